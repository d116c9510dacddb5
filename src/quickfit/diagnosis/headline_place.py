"""The headline place of a finding is in the user's own files; a library's line is evidence."""

from __future__ import annotations

import contextlib
import dataclasses

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
