"""What a report says about memory: that it grows, and with `--memory` at which lines."""

from __future__ import annotations

from quickfit import units
from quickfit.diagnosis.verdict import Verdict
from quickfit.errors import SignalMissing
from quickfit.signals import Signals
from quickfit.signals.memory import GrowingLine, MemoryUse

SLOWED = "Allocations were followed, so the times above are several times longer than usual."
# Lines that are named at most.
MAX_LINES = 5


def memory_verdict(signals: Signals) -> Verdict:
    """Return the verdict of a run with `--memory`: which lines grow, or that none does."""
    try:
        lines, memory = signals.growing_lines, signals.memory
    except SignalMissing as missing:
        text = f"inconclusive: what grows could not be seen; it needs {missing.needs}"
        return Verdict("inconclusive", text, notes=(SLOWED,))
    if not lines:
        text = f"no line of this script holds more and more memory ({_level(memory)})"
        return Verdict("memory", text, notes=(SLOWED,))
    text = f"memory grows at {lines[0].location.short}: {_rate(lines[0])}"
    return Verdict("memory", text, notes=(*map(_line, lines[:MAX_LINES]), SLOWED))


def memory_notes(signals: Signals) -> tuple[str, ...]:
    """Say that memory grows, where it does, and how to see the lines."""
    if signals.is_memory_run:
        return ()
    try:
        memory = signals.memory
    except SignalMissing:
        return ()
    if not memory.is_growing or memory.rss is None:
        return ()
    text = f"Memory grows by {units.size(memory.rss.per_s * 60)} a minute ({_level(memory)})"
    if memory.exhausted_in_s is not None:
        text += f"; at this rate it runs out in {units.seconds(memory.exhausted_in_s)}"
    return (f"{text}. To see the lines: quickfit run --memory YOUR_SCRIPT.py",)


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
