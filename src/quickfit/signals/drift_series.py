"""The parts of steps and epochs over the run, as series: input, machine and the rest."""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from quickfit.lab.statistics import Point
from quickfit.pipeline_model.snapshot import Snapshot
from quickfit.pipeline_model.stages import kind_of
from quickfit.recording.reader import ProcessRecording, Recording
from quickfit.recording.thinning import BLOCK_STEPS, bin_of, seconds_of
from quickfit.signals.input import snapshots_of, training_iterators
from quickfit.signals.loops import Epoch
from quickfit.signals.steps import Step, Steps

# What a block of merged steps has the sum of.
_SUMMED = ("call_s", "callbacks_s", "callbacks_cpu_s", "cpu_s", "wait_s")


def all_series(
    processes: list[ProcessRecording], loop: int, steps: Steps, plain: Iterable[Step], spe: int
) -> Series:
    """Return every series of a loop.

    Args:
        processes: the one that trains, and then the others of the run.
        loop: its number.
        steps: its steps after warm-up.
        plain: those of them in which nothing was traced.
        spe: how many batches a step takes.
    """
    process, *others = processes
    blocks = [row for row in process.rows("step_blocks") if row["loop"] == loop]
    progress = Progress(steps, sum(block["steps"] for block in blocks) + steps.warmup)
    series = step_series(steps, plain, blocks)
    # In a loop of the script, Python itself asks for the next batch: that wait is exact.
    series = input_series(process, loop, progress, spe) | series
    return series | machine_series(process, others, progress)


def step_series(steps: Steps, plain: Iterable[Step], blocks: list[Row]) -> Series:
    """Return the series of what every step tells.

    Args:
        steps: the steps after warm-up.
        plain: those of them in which nothing was traced.
        blocks: the steps before them, merged.
    """
    if blocks:
        # A mean is not to be compared with a median: the newer steps are merged alike.
        return _of_blocks([*blocks, *_merged(steps)])
    series: Series = {}
    usual = {id(step) for step in plain}
    # Where most epochs have a step or two, the first ones are all there is.
    is_short = 2 * sum(step.is_first_of_epoch for step in steps.steps) > len(steps.steps)
    watched: Step | None = None
    for place, step in enumerate(steps.steps, start=steps.warmup + 1):
        is_same_epoch = watched is not None and watched.epoch == step.epoch
        watched = step if step.cpu_s is not None else watched
        if (step.is_first_of_epoch and not is_short) or id(step) not in usual:
            continue
        for name, value in _parts(step).items():
            # The CPU time is that of all steps since the last one that was watched in full.
            if value is not None and (name != "cpu" or is_same_epoch):
                series.setdefault(name, []).append((float(place), value))
    return series


def _merged(steps: Steps) -> list[Row]:
    """Return steps as blocks like those that a long recording keeps of its old ones."""
    found: list[Row] = []
    for begin in range(0, len(steps.steps), BLOCK_STEPS):
        part = steps.steps[begin : begin + BLOCK_STEPS]
        sums: dict[str, float] = {
            name: sum(getattr(step, name) or 0.0 for step in part) for name in _SUMMED
        }
        sums["watched"] = sum(step.cpu_s is not None for step in part)
        counts = Counter(str(bin_of(step.end_s - step.begin_s)) for step in part)
        found.append({"steps": len(part), "sums": sums, "histogram": counts})
    # A last block of a few steps is no block.
    return found[:-1] if len(found) > 1 and found[-1]["steps"] < BLOCK_STEPS / 2 else found


def _parts(step: Step) -> dict[str, float | None]:
    between_s = None
    if step.call_s is not None:
        known_s = step.call_s + (step.callbacks_s or 0.0) + (step.wait_s or 0.0)
        between_s = max(step.cycle_s - known_s, 0.0)
    return {
        "step": step.cycle_s,
        "call": step.call_s,
        "callbacks": step.callbacks_s,
        "callbacks_cpu": step.callbacks_cpu_s,
        "cpu": step.cpu_s,
        "wait": step.wait_s,
        "between": between_s,
    }


def _of_blocks(blocks: list[Row]) -> Series:
    series: Series = {}
    done = 0
    for block in blocks:
        place = done + block["steps"] / 2
        done += block["steps"]
        for name, value in _block_parts(block).items():
            series.setdefault(name, []).append((place, value))
    return series


def _block_parts(block: Row) -> dict[str, float]:
    sums, watched = block["sums"], block["sums"].get("watched")
    step_s = _median_s(block["histogram"])
    found = {"step": step_s}
    # In `fit` every step has its call timed; in a loop of the script only some have.
    is_fit = bool(sums.get("callbacks_s"))
    timed = block["steps"] if is_fit else watched
    if timed:
        found["call"] = sums.get("call_s", 0.0) / timed
    if is_fit:
        found["callbacks"] = sums["callbacks_s"] / block["steps"]
    elif timed:
        found["wait"] = sums.get("wait_s", 0.0) / timed
        found["between"] = max(step_s - found["call"] - found["wait"], 0.0)
    if watched:
        found["cpu"] = sums.get("cpu_s", 0.0) / watched
    if watched and is_fit:
        found["callbacks_cpu"] = sums.get("callbacks_cpu_s", 0.0) / watched
    return found


def _median_s(histogram: dict[str, int]) -> float:
    bins = sorted((int(index), count) for index, count in histogram.items())
    half, seen = sum(count for _, count in bins) / 2, 0
    for index, count in bins:
        seen += count
        if seen >= half:
            return seconds_of(index)
    return 0.0


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
        for name, value in _epoch_parts(lap, usual, setups).items():
            series.setdefault(name, []).append((float(place), value))
    return series | _machine(process, recording, found) | stages


def _usual_steps(found: list[Lap]) -> float:
    return statistics.median(len(lap.durations) for lap in found)


def _is_added_to(stages: Series) -> bool:
    """Tell whether more and more operations lie behind the iterator, from epoch to epoch."""
    depths_seen = [depth for _, depth in stages.get("stages", [])]
    pairs = list(itertools.pairwise(depths_seen))
    return len(pairs) >= MIN_LONGER and all(after > before for before, after in pairs)


def _epoch_parts(
    lap: Lap, usual: float | None, setups: list[tuple[float, float]]
) -> dict[str, float]:
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


def input_series(process: ProcessRecording, loop: int, progress: Progress, spe: int) -> Series:
    """Return the series of what the input costs, per step."""
    series: Series = {}
    by_id: dict[int, list[Row]] = {}
    for row in process.rows("py_inputs"):
        if row["loop"] == loop:
            by_id.setdefault(row["id"], []).append(row)
    for first, last in _pairs(by_id.values()):
        made = last["batches"] - first["batches"]
        if made > 0:
            place = float(progress.done(last["at_s"]))
            wall_s, cpu_s = (spe * (last[n] - first[n]) / made for n in ("wall_s", "cpu_s"))
            found = {"input": wall_s, "input_cpu": cpu_s}
            # With several workers nothing is prefetched: that time is the wait itself.
            found |= {"wait": wall_s} if last["workers"] > 1 else {}
            for name, value in found.items():
                series.setdefault(name, []).append((place, value))
    snapshots = snapshots_of(process, loop)
    for one in (*_stage_points(snapshots, progress, spe), *_waits(process, loop, progress, spe)):
        series.setdefault(one[0], []).append(one[1])
    for created_s, depth in depths(process, loop):
        series.setdefault("stages", []).append((float(progress.done(created_s)), depth))
    return {name: sorted(points) for name, points in series.items()}


def _stage_points(
    snapshots: dict[int, list[Snapshot]], progress: Progress, spe: int
) -> Iterable[tuple[str, Point]]:
    """Yield the work of each stage, and the size of a batch, between two snapshots of one."""
    for first, last in _pairs(snapshots.values()):
        made = last.nodes[last.root].elements - first.nodes[first.root].elements
        if made <= 0 or first.root != last.root:
            continue
        place = float(progress.done(last.at_s))
        total_s = 0.0
        for number, node in last.nodes.items():
            earlier = first.nodes.get(number)
            # What a shuffle counts as work is waiting for its input while it fills.
            if earlier is None or kind_of(node.name).startswith("shuffle"):
                continue
            total_s += max(node.work_s - earlier.work_s, 0.0)
        yield "stage_work", (place, spe * total_s / made)
        size = _batch_bytes(first, last)
        if size is not None:
            yield "batch_bytes", (place, size)


def _batch_bytes(first: Snapshot, last: Snapshot) -> float | None:
    """Return the size of what left the pipeline between two snapshots, per element."""
    number: int | None = last.root
    while number is not None and number in last.nodes:
        node, earlier = last.nodes[number], first.nodes.get(number)
        if earlier is not None and node.bytes_out > earlier.bytes_out:
            made = node.elements - earlier.elements
            return (node.bytes_out - earlier.bytes_out) / made if made > 0 else None
        number = node.inputs[0] if len(node.inputs) == 1 else None
    return None


def _waits(
    process: ProcessRecording, loop: int, progress: Progress, spe: int
) -> Iterable[tuple[str, Point]]:
    """Yield how long a step waited for input before each snapshot: its time without the gaps."""
    iterators = training_iterators(process, loop)
    at_s: dict[int, float] = {}
    for row in process.rows("pipelines"):
        number = row["iterator"]
        if number not in iterators:
            continue
        since_s = at_s.get(number, row["at_s"] - row["gap_s"])
        at_s[number] = row["at_s"]
        step_s = progress.step_s(since_s, row["at_s"])
        if row["gaps"] >= 1 and step_s is not None:
            wait_s = max(step_s - spe * row["gap_s"] / row["gaps"], 0.0)
            yield "wait", (float(progress.done(row["at_s"])), wait_s)


def depths(process: ProcessRecording, loop: int) -> list[Point]:
    """Return when each iterator of a loop was made, and how many operations lie behind it."""
    inputs = {row["id"]: row["inputs"] for row in process.rows("datasets")}
    return [
        (row["created_s"], float(len(chain(inputs, row["dataset"]))))
        for row in process.rows("iterators")
        if row["loop"] == loop and row["phase"] == "train"
    ]


def chain(inputs: dict[int, list[int]], top: int) -> set[int]:
    """Return the datasets that a dataset is made of, itself included."""
    found: set[int] = set()
    waiting = [top]
    while waiting:
        number = waiting.pop()
        if number not in found and number in inputs:
            found.add(number)
            waiting.extend(inputs[number])
    return found


def _pairs(series: Iterable[list[Any]]) -> Iterable[tuple[Any, Any]]:
    """Yield neighbouring readings of each of several things."""
    for rows in series:
        yield from itertools.pairwise(rows)


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


Row = dict[str, Any]  # as the reader hands them out
Series = dict[str, list[Point]]


class Progress:
    """Tells how far the training was at a moment, and how long its steps took around then."""

    def __init__(self, steps: Steps, before: int) -> None:
        self.before = before
        self.begin_s = steps.begin_s
        self._ends = [step.end_s for step in steps.steps]
        self._cycles = [0.0, *itertools.accumulate(step.cycle_s for step in steps.steps)]

    def done(self, at_s: float) -> int:
        """Return how many steps had ended at a moment."""
        return self.before + bisect.bisect_right(self._ends, at_s)

    def moments(self) -> list[float]:
        """Return when the first step began, and when each of them ended."""
        return [self.begin_s, *self._ends]

    def step_s(self, begin_s: float, end_s: float) -> float | None:
        """Return the mean time of the steps that ended in a span, or of the one after it."""
        first, last = (bisect.bisect_right(self._ends, at_s) for at_s in (begin_s, end_s))
        if first == last:
            last = min(last + 1, len(self._ends))
        return (self._cycles[last] - self._cycles[first]) / (last - first) if last > first else None
