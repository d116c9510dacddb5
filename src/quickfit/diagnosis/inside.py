"""What a script that watches itself had made before it began to: its lines are not known."""

from __future__ import annotations

from collections import Counter

from quickfit.errors import SignalMissing
from quickfit.signals import Signals


def made_before(signals: Signals) -> tuple[str, ...]:
    """Say which objects were made before quickfit, where it began inside a running script."""
    if not signals.process.facts.get("started_inside"):
        return ()
    things = []
    kinds = Counter(row["kind"] for row in signals.process.rows("datasets") if row["file"] is None)
    if kinds:
        named = ", ".join(kind if n == 1 else f"{kind} ({n})" for kind, n in kinds.items())
        things.append(f"{kinds.total()} dataset operations ({named})")
    try:
        facts = signals.loop.facts
    except SignalMissing:
        return ()
    if facts.get("model") and facts.get("compile_line") is None:
        things.append(f"the compiled model `{facts['model']}`")
    if not things:
        return ()
    return (f"Made before quickfit, so their lines are not known: {', '.join(things)}.",)
