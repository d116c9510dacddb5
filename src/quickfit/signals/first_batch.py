"""The wait for the first batch, from snapshots of tf.data's model: the shuffle's fill, the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quickfit.pipeline_model.snapshot import Node, Snapshot, snapshot_from_row
from quickfit.pipeline_model.stages import kind_of
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.input import training_iterators

# Snapshots are half a second apart; one soon after the first step still tells what led to it.
AFTER_S = 1.5


@dataclass(frozen=True)
class Fill:
    """A shuffle that filled its buffer before it gave the first element.

    `end_s` is when it was full, or was last seen; `size` is what it takes, zero if unknown.
    """

    end_s: float
    elements: int
    size: int
    is_done: bool
    file: str | None = None
    line: int | None = None


def shuffle_fill(
    process: ProcessRecording, loop: int, span: tuple[float, float], wait_s: float
) -> Fill | None:
    """Return the fill of the largest shuffle between the first request and the first step.

    Args:
        process: where it was recorded.
        loop: the loop it feeds.
        span: from the first request of a batch to the end of the first step.
        wait_s: how long the first batch was waited for in all.
    """
    begin_s, end_s = span
    series = _first_series(process, loop, end_s)
    points = [(snapshot.at_s, node) for snapshot in series if (node := _shuffle(snapshot))]
    filling = [(at_s, node) for at_s, node in points if not node.elements and node.buffered]
    filling = [(at_s, node) for at_s, node in filling if at_s > begin_s]
    written = _written_shuffle(process, loop)
    size = int(written.get("facts", {}).get("buffer_size") or 0)
    place = (written.get("file"), written.get("line"))
    if not filling:
        share, elements = _filled(series)
        if not elements:
            return None
        return Fill(begin_s + share * wait_s, elements, size, True, *place)
    most = max(node.buffered for _, node in points)
    later = [at_s for at_s, node in points if node.elements]
    # A dataset that is smaller than the buffer ends the fill.
    goal = most if later else max(size, most)
    full_s = _full_s([(begin_s, 0), *((s, n.buffered) for s, n in filling)], goal)
    is_done = full_s < end_s or bool(later)
    elements = goal if is_done else filling[-1][1].buffered
    return Fill(max(min([full_s, end_s, *later]), begin_s), elements, size, is_done, *place)


def _filled(series: list[Snapshot]) -> tuple[float, int]:
    """Return the share of the first wait that a fill took which nobody saw, and its elements.

    All that the buffer holds, and what the first batch takes, had to be made first.
    """
    for snapshot in series:
        node, outputs = _shuffle(snapshot), snapshot.nodes[snapshot.root].elements
        if node is not None and node.elements and outputs:
            return node.buffered / (node.buffered + node.elements / outputs), node.buffered
    return 0.0, 0


def _full_s(points: list[tuple[float, int]], goal: int) -> float:
    """Return when a buffer reached its goal, at the rate it grew before."""
    points = [point for n, point in enumerate(points) if not n or point[0] > points[0][0]]
    for at_s, count in points:
        if count >= goal:
            return at_s
    (last_s, last), (before_s, before) = points[-1], points[-2] if len(points) > 1 else points[0]
    rate = (last - before) / (last_s - before_s) if last_s > before_s else 0.0
    return last_s + (goal - last) / rate if rate > 0 else float("inf")


def until_first_batch_s(
    process: ProcessRecording, loop: int, begin_s: float, end_s: float
) -> float:
    """Return how long the first request waited, the fill of a shuffle included.

    What one batch costs in the model, kept within what the snapshots allow: none had come at the
    one, some had at the other.
    """
    series = _first_series(process, loop, end_s)
    # Where no stage has begun, nothing was asked for yet.
    empty_s = [
        s.at_s
        for s in series
        if s.at_s <= end_s
        and not s.nodes[s.root].elements
        and any(node.elements or node.work_s for node in s.nodes.values())
    ]
    some = [s for s in series if s.nodes[s.root].elements]
    lowest_s = max([0.0, *(at_s - begin_s for at_s in empty_s)])
    highest_s = min([end_s, *(s.at_s for s in some)]) - begin_s
    batch_s = _made_s(some[0]) if some else _python_batch_s(process, loop)
    return max(min(max(batch_s, lowest_s), highest_s), 0.0)


def _first_series(process: ProcessRecording, loop: int, end_s: float) -> list[Snapshot]:
    """Return the snapshots of a loop's first iterator up to shortly after a moment."""
    iterators = training_iterators(process, loop)
    rows = [
        row
        for row in process.rows("pipelines")
        if row["iterator"] in iterators and row["at_s"] <= end_s + AFTER_S
    ]
    first = min((row["iterator"] for row in rows), default=None)
    series = [snapshot_from_row(row) for row in rows if row["iterator"] == first]
    return [snapshot for snapshot in series if snapshot.root in snapshot.nodes]


def _shuffle(snapshot: Snapshot) -> Node | None:
    """Return the shuffle that holds the most elements."""
    nodes = (n for n in snapshot.nodes.values() if kind_of(n.name).startswith("shuffle"))
    return max(nodes, key=lambda node: node.buffered, default=None)


def _made_s(snapshot: Snapshot) -> float:
    """Return how long the first batch takes to be made: the fill of a shuffle, then each stage."""
    outputs = snapshot.nodes[snapshot.root].elements
    shuffle = _shuffle(snapshot)
    above = set(_above(snapshot, shuffle.inputs)) if shuffle else set()
    held = shuffle.buffered / (shuffle.elements + shuffle.buffered or 1) if shuffle else 0.0
    work_s = {
        n: node.work_s / max(node.parallelism or 1.0, 1.0) for n, node in snapshot.nodes.items()
    }
    fill_s = max((held * work_s[n] for n in above), default=0.0)
    passed = {n: 1.0 - held if n in above else 1.0 for n in work_s}
    return fill_s + sum(work_s[n] * passed[n] / outputs for n in work_s)


def _above(snapshot: Snapshot, numbers: Iterable[int]) -> Iterable[int]:
    for number in numbers:
        if number in snapshot.nodes:
            yield number
            yield from _above(snapshot, snapshot.nodes[number].inputs)


def _python_batch_s(process: ProcessRecording, loop: int) -> float:
    """Return what one batch of a Python input takes, where tf.data has no model of it."""
    rows = [r for r in process.rows("py_inputs") if r["loop"] == loop and r["batches"]]
    return rows[0]["wall_s"] / rows[0]["batches"] if rows else 0.0


def _written_shuffle(process: ProcessRecording, loop: int) -> dict[str, Any]:
    """Return the largest shuffle the user wrote for a loop's first pipeline."""
    iterators = training_iterators(process, loop)
    known = {row["id"]: row for row in process.rows("datasets")}
    waiting = [iterators[min(iterators)]] if iterators else []
    seen: dict[int, dict[str, Any]] = {}
    while waiting:
        row = known.get(waiting.pop())
        if row is not None and row["id"] not in seen:
            seen[row["id"]] = row
            waiting.extend(row["inputs"])
    shuffles = [row for row in seen.values() if "shuffle" in row["kind"].lower()]
    return max(shuffles, key=lambda row: row["facts"].get("buffer_size") or 0, default={})
