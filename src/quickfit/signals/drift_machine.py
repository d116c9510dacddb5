"""What the machine's counters tell over the run, as series: load, waiting for a core, the clock."""

from __future__ import annotations

import bisect
import itertools

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.drift_progress import Progress, Row, Series


def machine_series(
    process: ProcessRecording, others: list[ProcessRecording], progress: Progress
) -> Series:
    """Return the series of what the machine's counters tell; seconds are per step."""
    series: Series = {}
    traced = sorted(row["at_s"] for row in process.rows("traces") if row["loop"] is not None)
    for first, last in itertools.pairwise(_by_step(process.rows("machine"), progress)):
        begin_s, end_s = first["at_s"], last["at_s"]
        span_s, step_s = end_s - begin_s, progress.step_s(begin_s, end_s)
        place = progress.done(end_s)
        if span_s <= 0 or step_s is None or place <= progress.before:
            continue
        grown = {name: _grown(first, last, name) for name in _COUNTERS}
        grown["rest_cpu_s"] = _less(grown["cpu_s"], grown["main_cpu_s"])
        grown["others_s"] = others_s([first, last], others, begin_s, end_s)
        for name, (column, is_time) in _FROM_COUNTERS.items():
            spent_s = grown[column]
            if spent_s is not None:
                value = max(spent_s, 0.0) / span_s * (step_s if is_time else 1.0)
                series.setdefault(name, []).append((float(place), value))
        new = bisect.bisect(traced, end_s) - bisect.bisect(traced, begin_s)
        series.setdefault("traces", []).append((float(place), new * step_s / span_s))
        for name, column in _LEVELS.items():
            if last.get(column) is not None:
                series.setdefault(name, []).append((float(place), float(last[column])))
    return series


def _by_step(rows: list[Row], progress: Progress) -> list[Row]:
    """Return the readings; of steps that are longer than the time between two, one for each step.

    A reading in the middle of a step says nothing about the step: it may work at first and wait
    then.
    """
    moments = progress.moments()
    inside = [row for row in rows if moments[0] <= row["at_s"] <= moments[-1]]
    if len(inside) < len(moments):
        return rows
    found = []
    for at_s in moments:
        place = bisect.bisect_right(rows, at_s, key=lambda row: row["at_s"])
        counters = {name: counter_at(rows, name, at_s) for name in _COUNTERS}
        found.append({**rows[max(place - 1, 0)], **counters, "at_s": at_s})
    return found


_COUNTERS = (
    *("cpu_s", "main_cpu_s", "main_run_delay_s", "system_busy_s", "throttled_s"),
    "collecting_s",
)
_LEVELS = {"open_files": "open_files", "clock": "clock_hz"}
# By name: the counter, and whether it is told as time per step; else as a rate.
_FROM_COUNTERS = {
    "delay": ("main_run_delay_s", True),
    "main_cpu": ("main_cpu_s", True),
    "rest_cpu": ("rest_cpu_s", True),
    "collecting": ("collecting_s", True),
    "others": ("others_s", False),
    "throttled": ("throttled_s", False),
}


def _grown(first: Row, last: Row, name: str) -> float | None:
    if first.get(name) is None or last.get(name) is None:
        return None
    return float(last[name]) - float(first[name])


def _less(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def others_s(
    rows: list[Row], children: list[ProcessRecording], begin_s: float, end_s: float
) -> float | None:
    """Return the CPU time that programs which do not belong to the run used in a span."""
    spent: list[float] = []
    for name in ("system_busy_s", "cpu_s"):
        first, last = counter_at(rows, name, begin_s), counter_at(rows, name, end_s)
        if first is None or last is None:
            return None
        spent.append(last - first)
    return max(spent[0] - spent[1] - sum(_child_s(c, begin_s, end_s) for c in children), 0.0)


def _child_s(child: ProcessRecording, begin_s: float, end_s: float) -> float:
    rows = child.rows("machine")
    first, last = (counter_at(rows, "cpu_s", at_s) for at_s in (begin_s, end_s))
    return 0.0 if first is None or last is None else max(last - first, 0.0)


def counter_at(rows: list[Row], name: str, at_s: float) -> float | None:
    """Return a counter at a moment, between two readings in proportion; None if not recorded."""
    if not rows or rows[0].get(name) is None:
        return None
    place = bisect.bisect_right(rows, at_s, key=lambda row: row["at_s"])
    if place == 0 or place == len(rows):
        nearest = rows[0] if place == 0 else rows[-1]
        return float(nearest[name]) if nearest.get(name) is not None else None
    one, two = rows[place - 1], rows[place]
    if one.get(name) is None or two.get(name) is None:
        return None
    part = (at_s - one["at_s"]) / (two["at_s"] - one["at_s"])
    return float(one[name] + part * (two[name] - one[name]))
