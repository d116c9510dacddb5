"""What a person should know about a file that was made, from its operators."""

from __future__ import annotations

import importlib.util

from quickfit.compression.quantizing.operators import PLUMBING, op_counts


def remarks_on(content: bytes, kind: str) -> tuple[str, ...]:
    """Return what is worth telling: operators of an int8 file that stayed in float.

    Without the runtime installed the file cannot be looked into, and nothing is told.
    """
    if not kind.startswith("int8") or importlib.util.find_spec("ai_edge_litert") is None:
        return ()
    floats = sorted(
        name
        for name, numbers in op_counts(content)
        if numbers.startswith("float") and name not in PLUMBING
    )
    if not floats:
        return ()
    return (f"These operators stayed in float: {', '.join(dict.fromkeys(floats))}.",)
