"""What the input costs over the run, as series: its Python, its stages, the wait, its size."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from quickfit.measuring.trend import Point
from quickfit.pipeline_model.snapshot import Snapshot
from quickfit.pipeline_model.stages import kind_of
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.drift_progress import Progress, Row, Series
from quickfit.signals.input import snapshots_of, training_iterators


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
