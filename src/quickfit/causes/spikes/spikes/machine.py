"""Slow steps that the machine, its disk or Python's garbage collector make slow."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.causes.spikes.spikes.windows import Coincidence, Windows, spans_of
from quickfit.signals._facade import Signals
from quickfit.signals.spikes import MIN_EXPLAINED, Reason, Spikes

Row = dict[str, Any]  # as the reader hands them out

# Of a slow second in the collector, without a core, or stopped by a limit, that explains it.
MIN_COLLECTING, MIN_DELAY, MIN_THROTTLED = 0.4, 0.4, 0.3
# Somebody else runs where others use this much of a core in slow seconds.
MIN_OTHERS = 0.3
# Others take the cores where they use so much more than usual, and hardly one is idle.
MIN_MORE_CORES, MIN_FULL = 0.5, 0.85
# The disk: pages that have to be read again, or bytes, per slow second; and many times the usual.
MIN_FAULTS, MIN_READ_BYTES, MIN_TIMES = 50.0, 5e6, 4.0
# A thread that waits for the disk does not use its core.
MAX_CORES = 0.6
# Steps that use the cores as the others do have more to compute.
SAME_CORES = 0.7
# Fewer readings tell nothing.
MIN_ROWS = 3
# Where others are busy all the time, that is another matter.
MAX_USUAL_OTHERS = 0.25


@dataclass(frozen=True)
class _Counter:
    """A counter of the machine.

    Args:
        values: how much of it each window has.
        is_enough: whether what a usual and a slow second have of it explains the slow one.
    """

    kind: str
    how: str
    values: list[float]
    is_enough: Callable[[float, float], bool]


def collecting_reason(signals: Signals, spikes: Spikes) -> Reason | None:
    """Return that Python collects garbage in slow steps."""
    return _first(signals, spikes, _collecting)


def kept_waiting_reason(signals: Signals, spikes: Spikes) -> Reason | None:
    """Return what kept the main thread from running in slow steps, where that was counted."""
    return _first(signals, spikes, _direct)


def machine_reason(signals: Signals, spikes: Spikes) -> Reason | None:
    """Return what the machine did in slow steps and not otherwise."""
    return _first(signals, spikes, _indirect)


def computes(signals: Signals, spikes: Spikes, least: float = SAME_CORES) -> bool:
    """Tell whether slow seconds use the CPU as others do: those steps have more to compute."""
    rows = _rows(signals)
    values = _grown(rows, "cpu_s")
    if values is None or len(rows) < MIN_ROWS:
        return False
    rates = _windows(rows, spikes).rates(dict(enumerate(values)))
    return rates is not None and rates[1] >= least * rates[0]


Counters = Callable[[Signals, list[Row], Windows], list[_Counter]]


def _first(signals: Signals, spikes: Spikes, counters: Counters) -> Reason | None:
    """Return the first of some counters that slow steps coincide with."""
    rows = _rows(signals)
    if len(rows) < MIN_ROWS:
        return None
    windows = _windows(rows, spikes)
    for counter in counters(signals, rows, windows):
        found = _coincidence(counter, windows, spikes)
        if found is None or found.hit_share < MIN_EXPLAINED or found.is_by_chance:
            continue
        how = f"{counter.how}; so too in {found.others} of {found.windows} half seconds without"
        return Reason(counter.kind, found.hits, found.spikes, found.hit_share, how)
    return None


def _windows(rows: list[Row], spikes: Spikes) -> Windows:
    return Windows(spans_of([row["at_s"] for row in rows]), spikes.spikes)


def _coincidence(counter: _Counter, windows: Windows, spikes: Spikes) -> Coincidence | None:
    rates = windows.rates(dict(enumerate(counter.values)))
    if rates is None or not counter.is_enough(*rates):
        return None
    usual, slow = rates
    # What half a slow step brings, and more than usual: then it happened in that window.
    least = 0.5 * slow * statistics.median(spike.extra_s for spike in spikes.spikes)
    happened = [
        value >= max(least, 2 * usual * (end_s - begin_s))
        for value, (begin_s, end_s) in zip(counter.values, windows.spans, strict=True)
    ]
    return windows.coincidence(happened)


def measured(signals: Signals) -> list[str]:
    """Return the names of what could be looked at."""
    rows = _rows(signals)
    names = {
        "waiting for a core": "main_run_delay_s",
        "other programs": "system_busy_s",
        "a CPU limit": "throttled_s",
        "garbage collection": "collecting_s",
        "page faults": "major_faults",
        "reads from the disk": "read_bytes",
    }
    return [name for name, column in names.items() if _grown(rows, column) is not None]


def _rows(signals: Signals) -> list[Row]:
    steps, rows = signals.steps, signals.process.rows("machine")
    return [row for row in rows if steps.begin_s - 1.0 <= row["at_s"] <= steps.end_s + 1.0]


def _collecting(signals: Signals, rows: list[Row], windows: Windows) -> list[_Counter]:
    values = _grown(rows, "collecting_s")
    how = "the collector's time, estimated"
    return _counter("collect", how, values, MIN_COLLECTING)


def _direct(signals: Signals, rows: list[Row], windows: Windows) -> list[_Counter]:
    """Return what is counted in seconds of the main thread or of the container."""
    how = "the container's count of stopped time"
    found = _counter("limit", how, _grown(rows, "throttled_s"), MIN_THROTTLED)
    # The script's own threads may take the core as well, and others may do so all the time.
    others = windows.rates(dict(enumerate(_others_s(signals, rows) or [])))
    if others is None or others[1] < MIN_OTHERS:
        return found
    if others[0] >= MAX_USUAL_OTHERS * signals.machine_cores:
        return found
    how = "the main thread was ready but had no core"
    return found + _counter("neighbours", how, _grown(rows, "main_run_delay_s"), MIN_DELAY)


def _counter(kind: str, how: str, values: list[float] | None, least: float) -> list[_Counter]:
    return [_Counter(kind, how, values, _more_than(least))] if values is not None else []


def _indirect(signals: Signals, rows: list[Row], windows: Windows) -> list[_Counter]:
    """Return what may hold up a thread that waits for others."""
    cores = windows.rates(dict(enumerate(_grown(rows, "cpu_s") or [])))
    found = _others(signals, rows, cores[1] if cores else 0.0)
    return found + _disk(rows) if cores is not None and cores[1] <= MAX_CORES else found


def _more_than(least: float) -> Callable[[float, float], bool]:
    return lambda usual, slow: slow >= least and slow >= MIN_TIMES * usual


def _others(signals: Signals, rows: list[Row], own_cores: float) -> list[_Counter]:
    """Return the cores of other programs, where they take them only now and then."""
    values = _others_s(signals, rows)
    if values is None:
        return []
    cores = signals.machine_cores

    def is_enough(usual: float, slow: float) -> bool:
        is_more = slow - usual >= MIN_MORE_CORES and usual < MAX_USUAL_OTHERS * cores
        return is_more and slow + own_cores >= MIN_FULL * cores

    return [_Counter("neighbours", "the cores that other programs used", values, is_enough)]


def _others_s(signals: Signals, rows: list[Row]) -> list[float] | None:
    """Return the CPU time of other programs in each window."""
    busy, own = _grown(rows, "system_busy_s"), _grown(rows, "cpu_s")
    if busy is None or own is None or signals.recording.others:
        return None
    return [max(b - o, 0.0) for b, o in zip(busy, own, strict=True)]


def _disk(rows: list[Row]) -> list[_Counter]:
    pages, read = _grown(rows, "major_faults"), _grown(rows, "read_bytes")
    found = _counter("disk", "pages read from the disk again", pages, MIN_FAULTS)
    return found + _counter("disk", "bytes read from the disk", read, MIN_READ_BYTES)


def _grown(rows: list[Row], column: str) -> list[float] | None:
    """Return how much a counter grew in each window; None where it is not there throughout."""
    values = [float(row[column]) for row in rows if row.get(column) is not None]
    if len(values) < max(len(rows), 2):
        return None
    return [max(after - before, 0.0) for before, after in itertools.pairwise(values)]
