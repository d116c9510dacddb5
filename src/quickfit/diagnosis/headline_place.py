"""The place that a finding is shown at: the user's own line."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter

from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Location
from quickfit.signals import Signals


def at_users_line(found: Finding, signals: Signals) -> Finding:
    """Return a finding with its place in the user's files, if it was in a library's.

    Then it is the call that leads into the library: the line that made the input, the user's
    place of a piece of evidence, or the line of the loop, such as the call of `fit`. The line of
    the library goes to the evidence. Without any place of the user nothing changes.
    """
    where = found.where
    if where is None or signals.is_users(where):
        return found
    place = _users_place(found, signals)
    if place is None:
        return found
    return dataclasses.replace(found, where=place, evidence=_with_place(found.evidence, where))


def _users_place(found: Finding, signals: Signals) -> Location | None:
    places = [each.where for each in found.evidence]
    with contextlib.suppress(SignalMissing):
        places.append(signals.loop.location)
    with contextlib.suppress(SignalMissing):
        if "input_wait" in found.claims and signals.py_input is not None:
            places.insert(0, signals.py_input.made_at)
    return next((p for p in places if p is not None and signals.is_users(p)), None)


def _with_place(evidence: tuple[Evidence, ...], where: Location) -> tuple[Evidence, ...]:
    """Return evidence of which a piece names a place: the last one without any has it then."""
    if any(each.where is not None and each.where.short == where.short for each in evidence):
        return evidence
    for index in reversed(range(len(evidence))):
        if evidence[index].where is None:
            placed = dataclasses.replace(evidence[index], where=where)
            return (*evidence[:index], placed, *evidence[index + 1 :])
    return evidence


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
