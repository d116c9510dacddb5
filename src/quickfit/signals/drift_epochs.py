"""The epochs of a loop as series: what one takes, and what of it lies after its steps.

The first epoch is left out: it traces, compiles and fills caches. Epochs of more or fewer steps
are told as if they had as many as the others, unless the script itself makes them longer by
adding to its dataset.
"""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass, field

from quickfit.measuring.trend import Point
from quickfit.recording.reader import ProcessRecording, Recording
from quickfit.signals.drift_inputs import depths
from quickfit.signals.drift_machine import counter_at, others_s
from quickfit.signals.drift_progress import Row, Series
from quickfit.signals.loops import Epoch

# So many epochs in a row must each have a longer pipeline than the one before.
MIN_LONGER = 4


@dataclass
class Lap:
    """One epoch: when its steps ran, and when the next one's began."""

    number: int
    begin_s: float
    end_s: float = 0.0
    next_s: float | None = None
    validation_s: float = 0.0
    durations: list[float] = field(default_factory=list)

    @property
    def start_s(self) -> float:
        """What the first step took longer than the others."""
        rest = self.durations[1:]
        return max(self.durations[0] - statistics.median(rest), 0.0) if rest else 0.0


def laps(process: ProcessRecording, loop: int, epochs: list[Epoch]) -> list[Lap]:
    """Return the epochs of a loop whose end is known, without the first one."""
    found: list[Lap] = []
    for row in process.rows("steps"):
        if row["loop"] != loop:
            continue
        if not found or found[-1].number != row["epoch"]:
            if found:
                found[-1].next_s = row["begin_s"]
            found.append(Lap(row["epoch"], row["begin_s"]))
        found[-1].end_s = row["end_s"]
        found[-1].durations.append(row["end_s"] - row["begin_s"])
    ended = {epoch.number: epoch for epoch in epochs}
    for lap in found:
        told = ended.get(lap.number)
        if told is not None:
            lap.validation_s = told.validation_s
            lap.next_s = lap.next_s or told.end_s
    return [lap for lap in found[1:] if lap.next_s is not None]


def epoch_series(
    recording: Recording, process: ProcessRecording, loop: int, epochs: list[Epoch]
) -> Series:
    """Return the series of a loop's epochs; `step` is what a whole one takes."""
    found = laps(process, loop, epochs)
    if not found:
        return {}
    stages = _stages(process, loop, found)
    usual = None if _is_added_to(stages) else _usual_steps(found)
    setups = [(row["entered_s"], row["begin_s"]) for row in recording.main.rows("loops")]
    series: dict[str, list[Point]] = {}
    for place, lap in enumerate(found, start=1):
        for name, value in _parts(lap, usual, setups).items():
            series.setdefault(name, []).append((float(place), value))
    return series | _machine(process, recording, found) | stages


def _usual_steps(found: list[Lap]) -> float:
    return statistics.median(len(lap.durations) for lap in found)


def _is_added_to(stages: Series) -> bool:
    """Tell whether more and more operations lie behind the iterator, from epoch to epoch."""
    depths_seen = [depth for _, depth in stages.get("stages", [])]
    pairs = list(itertools.pairwise(depths_seen))
    return len(pairs) >= MIN_LONGER and all(after > before for before, after in pairs)


def _parts(lap: Lap, usual: float | None, setups: list[tuple[float, float]]) -> dict[str, float]:
    assert lap.next_s is not None
    steps_s = (usual or len(lap.durations)) * statistics.fmean(lap.durations)
    after_s = lap.next_s - lap.end_s
    # Setting up the next call of `fit` is another matter, and so is validation.
    setup_s = sum(begin - entered for entered, begin in setups if lap.end_s < begin <= lap.next_s)
    beside_s = min(lap.validation_s + setup_s, after_s)
    return {
        "step": steps_s + after_s,
        "steps": steps_s,
        "start": lap.start_s,
        "after": after_s - beside_s,
        "validation": lap.validation_s,
    }


def _machine(process: ProcessRecording, recording: Recording, found: list[Lap]) -> Series:
    rows = process.rows("machine")
    children = [p for p in (recording.main, *recording.others) if p.path != process.path]
    series: dict[str, list[Point]] = {}
    for place, lap in enumerate(found, start=1):
        assert lap.next_s is not None
        told = {
            "after_cpu": _between(rows, "main_cpu_s", lap.end_s, lap.next_s),
            "delay": _between(rows, "main_run_delay_s", lap.begin_s, lap.next_s),
            "main_cpu": _between(rows, "main_cpu_s", lap.begin_s, lap.next_s),
            "throttled": _between(rows, "throttled_s", lap.begin_s, lap.next_s),
            "others": others_s(rows, children, lap.begin_s, lap.next_s),
            "rest_cpu": _rest_s(rows, lap.begin_s, lap.next_s),
            "after_rest_cpu": _rest_s(rows, lap.end_s, lap.next_s),
            "start_cpu": _between(rows, "cpu_s", lap.begin_s, lap.begin_s + lap.durations[0]),
        }
        span_s = lap.next_s - lap.begin_s
        for name, value in told.items():
            if value is not None:
                rate = value / span_s if name in ("throttled", "others") else value
                series.setdefault(name, []).append((float(place), rate))
    return series


def _rest_s(rows: list[Row], begin_s: float, end_s: float) -> float | None:
    """Return the CPU time of all threads but the main one."""
    spent_s = _between(rows, "cpu_s", begin_s, end_s)
    main_s = _between(rows, "main_cpu_s", begin_s, end_s)
    return None if spent_s is None or main_s is None else max(spent_s - main_s, 0.0)


def _stages(process: ProcessRecording, loop: int, found: list[Lap]) -> Series:
    """Return how many operations lie behind the iterator of each epoch."""
    made = depths(process, loop)
    points = []
    for place, lap in enumerate(found, start=1):
        before = [depth for created_s, depth in made if created_s <= lap.end_s]
        if before:
            points.append((float(place), before[-1]))
    return {"stages": points} if points else {}


def _between(rows: list[Row], name: str, begin_s: float, end_s: float) -> float | None:
    """Return how far a counter came in a span."""
    first, last = counter_at(rows, name, begin_s), counter_at(rows, name, end_s)
    return None if first is None or last is None else max(last - first, 0.0)


def compared(found: list[Lap]) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the first and the last part of the epochs: from when to when, and how many."""
    part = max(len(found) // 4, 1)
    early, late = found[:part], found[-part:]
    spans = [(p[0].begin_s, p[-1].next_s or p[-1].end_s, float(part)) for p in (early, late)]
    return spans[0], spans[1]
