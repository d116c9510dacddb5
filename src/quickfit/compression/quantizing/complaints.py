"""What a person is told when a model cannot be converted: the cause out of pages of output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# The converter's own words, in the order in which they say most.
_OPS = re.compile(r"'tf\.(\w+)' op is neither")
_LISTED = re.compile(r"^(?:Flex|Custom) ops: (.+)$", re.MULTILINE)
_ERROR = re.compile(r"error: (?!failed while converting)(.+)")
# Where an operator stands: "sequential_1/lstm_1/while@__inference_function_44".
_PLACE = re.compile(r'"(\w+):", "([\w./-]+)@')
_MOST = 300


def short_reason(error: str, printed: str) -> str:
    """Return why a conversion failed, in a line or two.

    Args:
        error: the text of the exception, which can be the whole program.
        printed: what the converter wrote meanwhile.
    """
    text = f"{error}\n{printed}"
    missing = sorted({*_OPS.findall(text), *_names(_LISTED.findall(text))})
    if missing:
        return f"LiteRT has no operator for {', '.join(missing)}{_places(text, missing)}"
    found = _ERROR.search(_PLACE.sub("", text))
    line = found[1] if found else _telling_line(error)
    return f"{_without_location(line)[:_MOST]}{_places(text, [])}"


def cannot_convert(model: Any, reasons: Sequence[str]) -> str:
    """Return the message for a model that no way could convert."""
    first, *others = dict.fromkeys(reasons)
    also = "".join(f"\nAnother way: {reason}." for reason in others[-1:])
    return (
        f"The model '{model.name}' cannot be converted to LiteRT: {first}.{also}\n"
        "Replace the layers it names by others, or keep the Keras model."
    )


def _telling_line(error: str) -> str:
    """Return the line of a Python error that says most: the last one where it was traced."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    return lines[-1] if lines[0].startswith("in user code") else lines[0]


def _names(lists: Sequence[str]) -> set[str]:
    return {name.strip().removeprefix("Flex") for one in lists for name in one.split(",")}


def _places(text: str, operators: Sequence[str]) -> str:
    """Return the layers around the operators, as Keras calls them."""
    found = [
        where.split("/")[:-1]
        for op, where in _PLACE.findall(text)
        if "/" in where and (not operators or op in operators)
    ]
    layers = list(dict.fromkeys("/".join(parts[1:]) or parts[0] for parts in found))
    return f" (in {', '.join(layers[:3])})" if layers else ""


def _without_location(line: str) -> str:
    return re.sub(r"loc\(.*\)\)*: (error: )?", "", line).strip().rstrip(".")
