"""A run that was quiet: why, when the cause is one that is otherwise known from its steps."""

from __future__ import annotations

import dataclasses

from quickfit.causes import catalogue, silence_finding
from quickfit.findings import Finding, Severity, Symptom
from quickfit.signals import Signals


def silent(signals: Signals, found: list[Finding]) -> list[Finding]:
    """Return a finding for each cause of a silence that nobody else has told of.

    A shuffle that is being filled is told of by its steps; a run that was ended before has none.
    """
    told = {finding.cause for finding in found}
    known = catalogue()
    causes = dict.fromkeys(silence.cause for silence in signals.silences if silence.cause in known)
    return [_finding(signals, cause) for cause in causes if cause not in told]


def _finding(signals: Signals, name: str) -> Finding:
    cause, found = catalogue()[name], silence_finding(signals, name)
    assert found is not None
    return dataclasses.replace(
        found,
        cause=name,
        title=cause.title,
        symptom=Symptom.STUCK,
        severity=Severity.MENTION if found.is_past else Severity.SEVERE,
    )


def headline(signals: Signals, found: Finding) -> str:
    """Return the verdict on a run that did not move; one that would have is not called stuck."""
    told = [silence for silence in signals.silences if silence.cause == found.cause]
    is_stuck = bool(told) and not told[-1].moves  # without, the script ended by itself
    return f"stuck: {found.summary}" if is_stuck else found.summary


def unexplained(signals: Signals) -> str:
    """Return what was said of the last silence, if it has no cause and no end."""
    last = signals.silences[-1] if signals.silences else None
    return last.text if last is not None and not last.cause and not last.moved_again else ""
