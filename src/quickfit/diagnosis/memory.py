"""What a report says about memory: that it grows, and with `--memory` at which lines."""

from __future__ import annotations

import math

from quickfit import units
from quickfit.diagnosis.verdict import Verdict, running_out
from quickfit.errors import SignalMissing
from quickfit.findings import Exhaustion, Finding, Severity
from quickfit.signals import Signals
from quickfit.signals.memory import GrowingLine, MemoryUse

SLOWED = "Allocations were followed, so the times above are several times longer than usual."
# Lines that are named at most.
MAX_LINES = 5
# Within an hour most trainings meet the limit, within a day some; later ones have ended.
SEVERE_S, TOLD_S = 3600.0, 24 * 3600.0
# So much of the limit gone by growth alone is told, however slowly it goes on.
TOLD_SHARE = 0.20
# One part of the run that holds half of the memory leaves too little for the rest.
SEVERE_HELD_SHARE = 0.50


def memory_verdict(signals: Signals, findings: list[Finding]) -> Verdict:
    """Return the verdict of a run with `--memory`: which lines grow, or that none does."""
    try:
        lines, memory = signals.growing_lines, signals.memory
    except SignalMissing as missing:
        text = f"inconclusive: what grows could not be seen; it needs {missing.needs}"
        return Verdict("inconclusive", text, notes=(SLOWED,))
    told = [found for found in findings if found.severity != Severity.MENTION]
    if told:
        notes = (*map(_line, lines[:MAX_LINES]), SLOWED)
        return Verdict("memory", running_out(told[0]), notes=notes)
    if not lines:
        text = f"no line of this script holds more and more memory ({_level(memory)})"
        return Verdict("memory", text, notes=(SLOWED,))
    text = f"memory grows at {lines[0].location.short}: {_rate(lines[0])}"
    return Verdict("memory", text, notes=(*map(_line, lines[:MAX_LINES]), SLOWED))


def memory_severity(used: Exhaustion) -> Severity:
    """Return how loudly to tell of something that runs out.

    Its time says nothing: a leak costs none until the run is killed. So what decides is when
    that is. Growth that would take days is mentioned in a line, unless much is gone already.
    """
    if used.held is not None:
        is_severe = used.limit is not None and used.held >= SEVERE_HELD_SHARE * used.limit
        return Severity.SEVERE if is_severe else Severity.REPORT
    in_s = math.inf if used.in_s is None else used.in_s
    if in_s <= SEVERE_S:
        return Severity.SEVERE
    is_large = used.limit is not None and used.grown >= TOLD_SHARE * used.limit
    return Severity.REPORT if in_s <= TOLD_S or is_large else Severity.MENTION


def _level(memory: MemoryUse) -> str:
    return f"now {units.size(memory.rss_bytes)}"


def _rate(line: GrowingLine) -> str:
    per_step = line.growth.per_step
    if per_step is None:
        return f"{units.size(line.growth.per_s)} a second"
    return f"{units.size(per_step)} more with every step"


def _line(line: GrowingLine) -> str:
    where = line.location
    held = f"{_rate(line)}, {units.size(line.growth.last)} at the end"
    return f"{where.short} holds {held}: `{where.text}`"
