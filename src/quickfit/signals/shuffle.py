"""A shuffle: what it holds, and how long its refill takes at the start of an epoch."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.findings import Gain, Location
from quickfit.pipeline_model.match import Operation, match
from quickfit.pipeline_model.snapshot import Node, Snapshot
from quickfit.pipeline_model.stages import StageCost, kind_of, stage_costs
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.dataset_chains import below
from quickfit.signals.gains import gain
from quickfit.signals.input import operations, snapshots_of, training_iterators

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals


@dataclass(frozen=True)
class ShuffleBuffer:
    """The fullest state of a shuffle that was seen.

    `fill_s` is the time the slowest stage above needs for what the buffer holds, by tf.data's
    model; `source_bytes` is the size of the smallest element that was written above it, and zero
    for paths and encoded files, whose size their type does not tell.
    """

    location: Location | None
    elements: int
    bytes: int
    element_bytes: float
    source_bytes: float
    fill_s: float
    is_after_cache: bool


def fullest_shuffle(
    process: ProcessRecording,
    loop: int,
    locate: Callable[[str | None, int | None], Location | None],
) -> ShuffleBuffer | None:
    """Return the shuffle of a training pipeline that held the most bytes; None without one."""
    best: tuple[int, int, Snapshot, Node] | None = None
    for iterator, series in snapshots_of(process, loop).items():
        for snapshot in series:
            for node in snapshot.nodes.values():
                # Only while the nodes above are there can their cost be told.
                is_shuffle = kind_of(node.name).startswith("shuffle") and node.inputs
                if is_shuffle and node.inputs[0] in snapshot.nodes:
                    size = node.buffered_bytes
                    if best is None or size > best[0]:
                        best = (size, iterator, snapshot, node)
    if best is None:
        return None
    _, iterator, snapshot, node = best
    top = training_iterators(process, loop)[iterator]
    return _describe(process, snapshot, node, top, locate)


def _describe(
    process: ProcessRecording,
    snapshot: Snapshot,
    node: Node,
    top: int,
    locate: Callable[[str | None, int | None], Location | None],
) -> ShuffleBuffer:
    taken = max(node.elements + node.buffered, 1)
    costs = stage_costs(None, snapshot, outputs=taken)
    known = operations(process)
    written = match(costs, known, top).get(node.id, [])
    shuffle = next((op for op in written if op.kind == "shuffle"), None)
    above = _above(node, {cost.node.id: cost for cost in costs})
    return ShuffleBuffer(
        location=locate(shuffle.file, shuffle.line) if shuffle else None,
        elements=node.buffered,
        bytes=node.buffered_bytes,
        element_bytes=node.bytes_in / taken if node.bytes_in else 0.0,
        source_bytes=_source_bytes(shuffle, known),
        fill_s=_element_s(node, snapshot, [cost.node for cost in above]) * node.buffered,
        is_after_cache=any(cost.kind == "cache" for cost in above),
    )


def _element_s(node: Node, snapshot: Snapshot, above: list[Node]) -> float:
    """Return the time that the stages above need for one element, by the slowest of them.

    A repeat after the shuffle makes its inputs anew, so they are counted by what they made. Stages
    without threads of their own run one after the other.
    """
    made = sum(snapshot.nodes[n].elements for n in node.inputs if n in snapshot.nodes)
    if not made:
        return 0.0
    parallel = [n.work_s / max(n.parallelism or 1.0, 1.0) for n in above if n.is_async]
    in_turn = sum(n.work_s for n in above if not n.is_async)
    return max([in_turn, *parallel]) / made


def _source_bytes(operation: Operation | None, known: dict[int, Operation]) -> float:
    """Return the size of the smallest element above an operation; the running nodes may be gone."""
    sizes: list[float] = []
    for _ in range(len(known)):
        if operation is None or not operation.inputs:
            break
        operation = known.get(operation.inputs[0])
        if operation is not None:
            sizes.append(float(operation.facts.get("element_bytes") or 0))
    return min(sizes, default=0.0)


def _above(node: Node, costs: dict[int, StageCost]) -> list[StageCost]:
    """Return the stages between a node and its sources."""
    found: list[StageCost] = []
    waiting = list(node.inputs)
    while waiting:
        cost = costs.get(waiting.pop())
        if cost is not None and cost not in found:
            found.append(cost)
            waiting.extend(cost.node.inputs)
    return found


# Decoded images are thousands of times larger than their path; ten is the least worth moving.
MIN_GROWTH = 10
# Elements smaller than this are cheap to hold, whatever they are.
MIN_ELEMENT_BYTES = 4096
# How much of the refill hides behind the model's own time.
HIDDEN = (0.1, 0.4, 0.9)
# Later starts that are this much shorter than the first are none. One alone is worth telling
# where it takes a third of the whole training.
ONCE, MIN_ONCE_SHARE = 0.1, 0.33
# A first epoch that has not ended, and does not say how long it will be, has this many times as
# many steps.
UNKNOWN_FACTOR = 10.0


@dataclass(frozen=True)
class Refill:
    """What the start of an epoch costs beside the epoch.

    Args:
        start_s: what the first step of an epoch takes longer, without tracing.
        epoch_s: an epoch without its validation.
        epochs: how many starts that is the median of.
        held: the most elements that the shuffle was seen with.
        per_step: the elements of it that a step takes.
        explained_s: the time the stages above the shuffle need for so many.
        used: the elements of it that an epoch takes; the others were made for nothing.
        is_once: only the first epoch began like that; the epoch is then all of the training.
    """

    start_s: float
    epoch_s: float
    epochs: int
    held: int
    per_step: float
    explained_s: float
    used: float
    is_once: bool = False

    @property
    def wasted(self) -> float:
        """The share of what the shuffle took in that no step of the epoch takes."""
        return max(1.0 - self.used / self.held, 0.0) if self.held else 0.0

    @property
    def when(self) -> str:
        """Which epochs began like that."""
        if self.is_once:
            return f"once, in {self.epoch_s:.1f} s of training"
        return f"median of {self.epochs} epochs of {self.epoch_s:.1f} s"

    @property
    def share(self) -> float:
        """The share of an epoch that its start takes."""
        return min(self.start_s / self.epoch_s, 1.0) if self.epoch_s else 0.0


def refill(signals: Signals, shuffle: ShuffleBuffer) -> Refill:
    """Return what the refill of a shuffle costs."""
    starts = signals.epoch_start_s
    # The first epoch also warms everything up; the later ones show what each epoch costs.
    later = starts[1:] or starts
    left_s = _left_of_first_epoch_s(signals)
    duration_s = signals.loop.duration_s + left_s
    is_once = len(starts) == 1 or max(later, default=0.0) < ONCE * starts[0]
    is_once = is_once and starts[0] > MIN_ONCE_SHARE * duration_s
    most, per_step = _held(signals)
    held = max(most, shuffle.elements)
    # The picture that tells the costs may be one of a buffer that is still filling.
    each_s = shuffle.fill_s / max(shuffle.elements, 1)
    start_s, epoch_s = statistics.median(later), _epoch_s(signals) + left_s
    if is_once:
        start_s, epoch_s = starts[0], duration_s
    used = per_step * _steps_of_an_epoch(signals, all_of_them=is_once)
    return Refill(start_s, epoch_s, len(later), held, per_step, each_s * held, used, is_once)


def _left_of_first_epoch_s(signals: Signals) -> float:
    """Return how long the first epoch goes on after what was seen; nothing once one has ended."""
    loop = signals.loop
    rows = [row for row in signals.process.rows("steps") if row["loop"] == loop.id]
    is_stopped = bool(signals.process.facts.get("stopped_early"))
    if signals.epochs or len({row["epoch"] for row in rows}) > 1:
        return 0.0
    if loop.is_over and not is_stopped:
        return 0.0
    per_epoch = loop.facts.get("steps")
    planned = UNKNOWN_FACTOR * len(rows)
    if isinstance(per_epoch, int):
        planned = per_epoch / signals.steps_per_execution
    return max(planned - len(rows), 0.0) * signals.steps.median_s


def _steps_of_an_epoch(signals: Signals, *, all_of_them: bool) -> float:
    epochs = [r["epoch"] for r in signals.process.rows("steps") if r["loop"] == signals.loop.id]
    counts = Counter(epochs).values()
    return float(sum(counts) if all_of_them else max(counts, default=0))


def holds_decoded(signals: Signals, shuffle: ShuffleBuffer) -> bool:
    """Tell whether a shuffle holds what a map before it made large, and could stand before it."""
    is_large = shuffle.element_bytes >= MIN_ELEMENT_BYTES
    # tf.data's types tell no size for paths and encoded files; unknown is small.
    has_grown = shuffle.source_bytes * MIN_GROWTH <= shuffle.element_bytes
    return is_large and has_grown and _is_mapped(signals, shuffle)


def _is_mapped(signals: Signals, shuffle: ShuffleBuffer) -> bool:
    """Tell whether a map stands before a shuffle: what comes straight from files is not decoded."""
    where = shuffle.location
    known = operations(signals.process)
    if where is None:
        return False
    shuffles = [
        op
        for op in known.values()
        if op.kind == "shuffle" and (op.file, op.line) == (where.file, where.line)
    ]
    return any(_maps(part) for op in shuffles[-1:] for part in below(op, known).values())


def _maps(operation: Operation) -> bool:
    return operation.runs_as == "map" and not operation.does_nothing


def _held(signals: Signals) -> tuple[int, float]:
    """Return the most that a shuffle held, and how much of it one step takes."""
    most, per_step = 0, 1.0
    for series in snapshots_of(signals.process, signals.loop.id).values():
        for snapshot in series:
            given = snapshot.nodes[snapshot.root].elements
            for node in snapshot.nodes.values():
                if kind_of(node.name).startswith("shuffle"):
                    most = max(most, node.buffered)
                    per_step = max(per_step, node.elements / given if given > 2 else 1.0)
    return most, per_step * signals.steps_per_execution


def _epoch_s(signals: Signals) -> float:
    lengths = [epoch.end_s - epoch.begin_s - epoch.validation_s for epoch in signals.epochs]
    if lengths:
        return statistics.median(lengths[1:] or lengths)
    begins: dict[int, list[float]] = {}
    for row in signals.process.rows("steps"):
        if row["loop"] == signals.loop.id:
            # The wait for its batch lies before a step of a loop that the script wrote.
            span = begins.setdefault(row["epoch"], [row["begin_s"], 0.0])
            span[1] = row["end_s"]
    lengths = [end_s - begin_s for begin_s, end_s in begins.values()]
    return statistics.median(lengths[1:] or lengths) if lengths else signals.loop.duration_s


def gain_of_overlap(signals: Signals, found: Refill, basis: str) -> Gain:
    """Return the gain of making the elements while the model runs instead of before.

    The work of the refill stays; what is won is that both go on side by side, as far as the
    cores allow.
    """
    rest_s = found.epoch_s - found.start_s
    # What no step takes need not be made at all; that is not hidden, but gone.
    needed_s = found.start_s * (1 - found.wasted)
    epoch_s = rest_s + needed_s
    if found.is_once:  # there may be too few steps after it to know what the machine did
        once = [epoch_s - hidden * needed_s for hidden in HIDDEN]
        return gain(found.epoch_s, (once[0], once[1], once[2]), basis)
    work = signals.work
    cpu_s = signals.machine.cpu_cores * epoch_s
    after = []
    for hidden, cores in zip(HIDDEN, work.cores_after(), strict=True):
        least_s = max(rest_s, needed_s, cpu_s / cores if work.is_shared else 0.0)
        after.append(max(min(least_s, epoch_s), epoch_s - hidden * needed_s))
    return gain(found.epoch_s, (after[0], after[1], after[2]), basis)
