"""Caches of a pipeline: where one may stand, what it holds or saves, and how buffers fill."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.errors import SignalMissing
from quickfit.findings import MIN_GAIN, Gain, Location
from quickfit.pipeline_model.match import Operation
from quickfit.pipeline_model.snapshot import Node, Snapshot
from quickfit.pipeline_model.stages import kind_of
from quickfit.signals.dataset_chains import (
    below,
    cached_below,
    main_line,
    may_be_random,
    stages_of,
    written,
)
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage, snapshots_of, training_iterators
from quickfit.signals.memory import Growth, Point, growth, points_of

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# What a cached element costs: a copy, and the calls that hand it on.
ELEMENT_S = 5e-6
BYTES_PER_S = 3e9
# What Keras itself does between two epochs: 3 ms where measured.
EPOCH_S = 0.005
# From this share of the time on, making the pipeline anew in every epoch is worth a claim.
MIN_MAKING_SHARE = 0.05
# What is kept of the first epoch is read in the second.
MIN_EPOCHS = 2
# Operations that hand elements on as they are, and make no point of their own.
_NOT_HERE = ("prefetch", "options", "take", "skip", "shard", "shuffle", "variant")


@dataclass(frozen=True)
class CachePoint:
    """A place for a cache.

    Args:
        operation: the operation after which it belongs.
        saved_s: the work per step, summed over threads, that it saves from the second pass on.
        saved: the stages that work is done in, the largest first.
        elements: what one pass has there.
        size_bytes: what the cache would hold.
        is_shuffled: a shuffle comes before it and has to move behind the cache.
    """

    operation: Operation
    location: Location | None
    saved_s: float
    saved: tuple[Stage, ...]
    elements: int
    size_bytes: float
    is_shuffled: bool


@dataclass(frozen=True)
class Kept:
    """What a cache would gain of all of the training, and the share of it that its lack costs.

    `saved_share` is what it saves of the pipeline's work; `claims` names the parts of the time.
    """

    gain: Gain
    cost_share: float
    saved_share: float
    claims: tuple[str, ...]


def cache_point(signals: Signals, *, min_share: float) -> CachePoint | None:
    """Return the place where a cache saves most and all before it gives the same every time.

    None where it would save less than a share of the pipeline's work.

    Raises:
        SignalMissing: a place was found, but not how much it would hold.
    """
    least_s = min_share * sum(stage.work_s for stage in signals.stages)
    # Shuffled paths are common; their shuffle can as well follow the cache.
    for is_shuffled in (False, True):
        operation, stages = _latest(signals, is_shuffled=is_shuffled)
        if operation is not None and sum(stage.work_s for stage in stages) >= least_s > 0:
            return point_after(signals, operation, stages, is_shuffled=is_shuffled)
    return None


def _latest(signals: Signals, *, is_shuffled: bool) -> tuple[Operation | None, list[Stage]]:
    """Return the first operation behind all work that may be cached, and the stages of that."""
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    cached = cached_below(line, known)
    found: tuple[Operation | None, list[Stage]] = (None, [])
    best_s = 0.0
    for operation in reversed(line):  # from the source
        if _ends_it(operation, line, known, is_shuffled=is_shuffled):
            break
        stages = stages_of(signals.stages, below(operation, known), without=cached)
        saved_s = sum(stage.work_s for stage in stages)
        # Later than the last work is no use, and only makes a shuffle mix less.
        if operation.kind not in _NOT_HERE and saved_s > MIN_GAIN * best_s:
            found, best_s = (operation, stages), saved_s
    return found


def _ends_it(
    operation: Operation, line: list[Operation], known: dict[int, Operation], *, is_shuffled: bool
) -> bool:
    """Tell whether nothing from here on may be cached."""
    if operation.kind == "repeat" and not operation.does_nothing:
        return True
    if operation.kind == "batch" and is_shuffled:
        return True  # the same elements would meet in every epoch
    parts = [operation, *(known[n] for n in operation.made_by_function if n in known)]
    if operation is line[-1]:
        parts = list(below(operation, known).values())
    moved = ("shuffle",) if is_shuffled else ()
    return any(may_be_random(part) and part.kind not in moved for part in parts)


def point_after(
    signals: Signals, operation: Operation, stages: list[Stage], *, is_shuffled: bool = False
) -> CachePoint:
    """Return what a cache after an operation would hold and save.

    Raises:
        SignalMissing: the size of an element, or their number, is not known.
    """
    stages = sorted(stages, key=lambda stage: -stage.work_s)
    elements = _elements(signals, operation)
    own = [s for s in signals.stages if any(op.id == operation.id for op in s.operations)]
    # In a fused stage, what comes out is a batch; only the type tells the size of an element.
    measured = [s.element_bytes for s in own if s.operations[0].id == operation.id]
    size = max([*measured, float(operation.facts.get("element_bytes") or 0)])
    if not size:
        raise SignalMissing("the size of the pipeline's elements")
    return CachePoint(
        operation,
        signals.location(operation.file, operation.line),
        sum(stage.work_s for stage in stages),
        tuple(stages),
        elements,
        size * elements,
        is_shuffled,
    )


def _elements(signals: Signals, operation: Operation) -> int:
    """Return how many elements an operation gives in one pass."""
    count = operation.facts.get("cardinality")
    if isinstance(count, int) and count >= 0:
        return count
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    is_repeated = any(op.kind == "repeat" and not op.does_nothing for op in line)
    steps = _steps_per_epoch(signals)
    stage = next((s for s in signals.stages if operation in s.operations), None)
    if is_repeated or steps is None or stage is None:
        raise SignalMissing("how many elements the dataset has")
    # Of a fused stage, batches come out and elements go in.
    per_step = stage.per_step if stage.operations[0].id == operation.id else stage.calls
    return round(steps * per_step)


def _steps_per_epoch(signals: Signals) -> int | None:
    """Return the steps of a whole epoch, where one was seen to its end."""
    counts: dict[int, int] = {}
    for row in signals.process.rows("steps"):
        if row["loop"] == signals.loop.id:
            counts[row["epoch"]] = counts.get(row["epoch"], 0) + 1
    whole = list(counts.values())[:-1] or ([*counts.values()] if signals.epochs else [])
    return max(whole) * signals.steps_per_execution if whole else None


def passes(signals: Signals, point: CachePoint) -> float:
    """Return how often the training goes through the data, as far as is known or planned."""
    seen = {r["epoch"] for r in signals.process.rows("steps") if r["loop"] == signals.loop.id}
    epochs = max(len(seen), int(signals.loop.facts.get("epochs") or 1))
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    if not any(op.kind == "repeat" and not op.does_nothing for op in line):
        return float(epochs)
    steps = int(signals.loop.facts.get("steps") or 0) * epochs or len(signals.steps.steps)
    return steps * _taken_per_step(signals, point) / max(point.elements, 1)


def gain_if_kept(signals: Signals, point: CachePoint, passes: float) -> Kept:
    """Return what making the elements once and keeping them costs now, and would gain.

    The first pass stays as it is; the cautious and the likely end count it, the other end is the
    gain of every later pass.
    """
    work, whole, count = signals.work, signals.whole_time, len(signals.steps.steps)
    total_s = sum(stage.work_s for stage in signals.stages)
    saved = min(point.saved_s / total_s, 1.0) if total_s else 0.0
    taken, size = _taken_per_step(signals, point), point.size_bytes / max(point.elements, 1)
    left_s = max(work.input_cpu_s - point.saved_s, 0.0) + taken * (ELEMENT_S + size / BYTES_PER_S)
    later_s = [
        min(
            predicted_step_s(relieved, input_s=left_s, input_cpu_s=left_s, cores=cores), work.step_s
        )
        for relieved, cores in zip(work.with_relief(), work.cores_after(), strict=True)
    ]
    # An epoch that reads a cache does not make the stages before it: their functions are built
    # and optimised anew in every other.
    own_s = EPOCH_S * len(signals.epochs)
    making_s = saved * max(whole.epoch_ends_s - own_s, 0.0) / count
    # Ending an iterator takes a part of its own life (decision 0009).
    ends_s = whole.iterator_ends_s / count
    now_s = max(whole.total_s / count, work.step_s)
    gone_s = [work.step_s - later for later in later_s]
    around_s = [0.0, *(making_s + ends_s * gone / work.step_s for gone in gone_s[1:])]
    worst, likely, best = (
        now_s - gone - around for gone, around in zip(gone_s, around_s, strict=True)
    )
    first_s, rest = now_s / passes, (passes - 1) / passes
    basis = f"from the second of {passes:.0f} passes on, the elements come from memory"
    return Kept(
        gain(now_s, (first_s + rest * worst, first_s + rest * likely, best), basis),
        cost_share=(saved * signals.wait.step_s + making_s) / now_s,
        saved_share=saved,
        claims=("input_wait", "epoch_ends")[: 1 + (making_s > MIN_MAKING_SHARE * now_s)],
    )


def _taken_per_step(signals: Signals, point: CachePoint) -> float:
    stage = next((s for s in signals.stages if point.operation in s.operations), None)
    if stage is None:
        return 0.0
    return stage.per_step if stage.operations[0].id == point.operation.id else stage.calls


def free_bytes(signals: Signals) -> float:
    """Return the memory that a cache may fill: half of what is free, for there are others.

    Raises:
        SignalMissing: the system does not tell.
    """
    memory = signals.memory
    if memory.limit_bytes is None or memory.used_bytes is None:
        raise SignalMissing("the size of the machine's memory")
    return max(memory.limit_bytes - memory.used_bytes, 0) / 2


# -- all that an epoch is given ----------------------------------------------------------------

# What Python keeps of it is larger than what the batch becomes: float64, and its objects.
PYTHON_SIZE = 2.0
_ITEM_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2}


def epochs_of(signals: Signals) -> int:
    """Return how many epochs are trained, as far as is known or planned."""
    seen = {r["epoch"] for r in signals.process.rows("steps") if r["loop"] == signals.loop.id}
    return max(len(seen), int(signals.loop.facts.get("epochs") or 1))


def epoch_fits_memory(signals: Signals, line: int = 0, *, times: float = 1.0) -> bool:
    """Tell whether several epochs are trained, and the data of one certainly fits into memory.

    Args:
        signals: of the run.
        line: of a stage of the pipeline whose elements may be larger than those of a batch.
        times: how many times as much as that may be kept.
    """
    facts = signals.loop.facts
    planned = facts.get("steps") or facts.get("data_batches")
    steps = int(planned) if planned else _steps_per_epoch(signals)
    if steps is None or epochs_of(signals) < MIN_EPOCHS:
        return False
    sizes = [size for size in (_bytes_of_batch(signals), _bytes_at(signals, line)) if size]
    try:
        return bool(sizes) and times * PYTHON_SIZE * max(sizes) * steps <= free_bytes(signals)
    except SignalMissing:
        return False


def _bytes_of_batch(signals: Signals) -> float | None:
    """Return the size of a batch by what `fit` was given; None where it is not all known."""
    facts = signals.loop.facts
    examples, total = facts.get("batch_examples"), 0.0
    for _, dtype, shape in facts.get("batch") or []:
        first, *rest = shape or [1]
        if None in rest or not (first or examples):
            return None
        total += (first or examples) * math.prod(rest) * _ITEM_BYTES.get(dtype, 1)
    return total or None


def _bytes_at(signals: Signals, line: int) -> float | None:
    """Return what the pipeline hands on in a step, at a line or where that is most."""
    try:
        stages = signals.stages
    except SignalMissing:
        return None
    here = [s for s in stages if s.location is not None and s.location.line == line]
    return max((s.element_bytes * s.per_step for s in here or stages), default=0.0) or None


@dataclass(frozen=True)
class CacheUse:
    """What a cache of the pipeline did in the passes that were looked at.

    Args:
        written: passes after the first in which elements still went into it.
        read: passes in which it gave what it held.
        most: the most elements that went through it in one pass, as far as was seen.
        saved: the stages before it, which work whenever it is written.
        size: the elements of one pass over what feeds it; zero if unknown.
        endless: what a `repeat` without end before it repeats, once that has come round.
        taken: the `take` that reads from it.
    """

    operation: Operation
    written: int
    read: int
    most: int
    saved: tuple[Stage, ...]
    size: int = 0
    endless: Operation | None = None
    taken: Operation | None = None


def cache_use(signals: Signals) -> CacheUse | None:
    """Return what the pipeline's last cache did; None without one."""
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    cache = next((op for op in line if op.kind == "cache"), None)
    if cache is None:
        return None
    series = snapshots_of(signals.process, signals.loop.id)
    datasets = training_iterators(signals.process, signals.loop.id)
    # A pipeline that is built anew has a new cache; that is another story.
    same = [n for n in sorted(series) if datasets[n] == datasets[max(series)]]
    counts = {"written": 0, "read": 0}
    most = 0
    for place, number in enumerate(same):
        states = [state for snapshot in series[number] if (state := _state(snapshot))]
        most = max([most, *(elements for _, elements in states)])
        if any(name == "read" for name, _ in states):
            counts["read"] += 1
        elif states and place:
            counts["written"] += 1
    saved = stages_of(signals.stages, below(cache, known), without={cache.id: cache})
    endless = _endless(cache, known, most)
    source = endless or known.get(cache.inputs[0] if cache.inputs else 0)
    return CacheUse(
        cache,
        counts["written"],
        counts["read"],
        most,
        tuple(saved),
        size=_size(source) if source is not None else 0,
        endless=endless,
        taken=_take_behind(cache, line),
    )


def _size(operation: Operation) -> int:
    return max(int(operation.facts.get("cardinality") or 0), 0)


def _endless(cache: Operation, known: dict[int, Operation], most: int) -> Operation | None:
    for operation in main_line(cache, known)[1:]:
        is_endless = operation.kind == "repeat" and operation.facts.get("cardinality") == -1
        if is_endless and operation.inputs and operation.inputs[0] in known:
            repeated = known[operation.inputs[0]]
            return repeated if 0 < _size(repeated) < most else None
    return None


def _take_behind(cache: Operation, line: list[Operation]) -> Operation | None:
    """Return the `take` that reads from a cache, if nothing that matters lies between."""
    for operation in reversed(line[: line.index(cache)]):
        if operation.kind == "take":
            return operation
        if operation.kind not in ("options", "prefetch"):
            return None
    return None


def _state(snapshot: Snapshot) -> tuple[str, int] | None:
    """Return whether a cache is written or read at a moment, and how far it came."""
    for node in snapshot.nodes.values():
        is_second = node.name.startswith(("MemoryCacheImpl", "FileCacheImpl"))
        if is_second and kind_of(node.name) == "cache" and node.elements:
            is_fed = any(number in snapshot.nodes for number in node.inputs)
            return ("written" if is_fed else "read"), node.elements
    return None


# The second half of what tf.data calls a cache: this one holds its elements in memory.
MEMORY_CACHE = "MemoryCacheImpl"
# The machine is read twice a second.
MACHINE_EVERY_S = 0.5


@dataclass(frozen=True)
class FillingCache:
    """A cache in memory that is being filled.

    Args:
        held_bytes: what it holds now, in `elements` elements.
        size: how many elements it will hold; None where that is not known.
        is_endless: a `repeat` before it never ends, and so neither does the cache.
        growth: of what it holds, while the steps ran; None where it was seen too briefly.
    """

    operation: Operation
    location: Location | None
    elements: int
    held_bytes: float
    size: int | None
    is_endless: bool
    growth: Growth | None

    @property
    def element_bytes(self) -> float:
        """The mean size of an element."""
        return self.held_bytes / max(self.elements, 1)

    @property
    def to_come_bytes(self) -> float | None:
        """What it will still take; None where its size is not known."""
        return None if self.size is None else (self.size - self.elements) * self.element_bytes


@dataclass(frozen=True)
class HeldCache:
    """A cache in memory, and what its elements were made of.

    Args:
        held_bytes: the most it held, in `elements` elements.
        read_bytes: all that the process read from files meanwhile; None where that was not counted.
        source_bytes: what its source handed out to fill it, such as files that lie in memory.
    """

    operation: Operation
    location: Location | None
    held_bytes: float
    elements: int
    read_bytes: float | None
    source_bytes: float = 0.0

    @property
    def made_of_bytes(self) -> float:
        """What its elements were made of."""
        return max(self.read_bytes or 0.0, self.source_bytes)


@dataclass(frozen=True)
class GrowingBuffers:
    """What the stages of a pipeline hold ready, apart from shuffles and caches.

    Args:
        held_bytes: what they hold now.
        growth: of that, while the steps ran.
        largest: name of the stage that holds most, its line, and how many elements it holds.
        to_come_bytes: what fits into its buffer besides; None where autotune sets its size.
    """

    held_bytes: float
    growth: Growth
    largest: str
    location: Location | None
    elements: int
    to_come_bytes: float | None


def filling_cache(signals: Signals) -> FillingCache | None:
    """Return the pipeline's cache in memory while it is being filled; None without one."""
    newest = _newest(signals)
    node = _cache_node(newest[-1]) if newest else None
    if node is None or not newest:
        return None
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    cache = next((op for op in line if op.kind == "cache"), None)
    if cache is None:
        return None
    points = [(s.at_s, cache_bytes(n)) for s in newest if (n := _cache_node(s)) is not None]
    size = _shown_size(cache, known)
    return FillingCache(
        cache,
        signals.location(cache.file, cache.line),
        node.elements,
        cache_bytes(node),
        size if size > node.elements else None,
        size == -1,
        _growth(points, signals),
    )


def held_cache(signals: Signals) -> HeldCache | None:
    """Return the cache in memory that holds most, full or not; None without one."""
    series = snapshots_of(signals.process, signals.loop.id).values()
    seen = list(itertools.chain.from_iterable(series))
    nodes = [
        (cache_bytes(node), max(node.buffered, node.elements), snapshot.at_s)
        for snapshot in seen
        for node in snapshot.nodes.values()
        if node.name.startswith(MEMORY_CACHE) and node.elements
    ]
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    cache = next((op for op in line if op.kind == "cache"), None)
    if cache is None or not nodes:
        return None
    held, elements, at_s = max(nodes)
    where = signals.location(cache.file, cache.line)
    read, source = _bytes_read(signals, at_s), max(map(_source_bytes, seen))
    return HeldCache(cache, where, held, elements, read, source)


def _source_bytes(snapshot: Snapshot) -> float:
    """Return what the sources of a cache that is being filled have handed out."""
    cache = _cache_node(snapshot)
    ahead = list(cache.inputs) if cache is not None else []
    total = 0.0
    while ahead:
        node = snapshot.nodes.get(ahead.pop())
        if node is not None:
            ahead += node.inputs
            total += 0.0 if node.inputs else float(node.bytes_out)
    return total


def _bytes_read(signals: Signals, at_s: float) -> float | None:
    """Return what was read from files, from the start of the loop until a moment."""
    points = points_of(signals.process.rows("machine"), "chars_read")
    before = [value for time_s, value in points if time_s <= signals.loop.entered_s]
    until = [value for time_s, value in points if time_s <= at_s + MACHINE_EVERY_S]
    return until[-1] - (before or until)[-1 if before else 0] if until else None


def growing_buffers(signals: Signals) -> GrowingBuffers | None:
    """Return what the stages hold ready, where it grows; None where it does not."""
    newest = _newest(signals)
    points = [(s.at_s, float(sum(n.buffered_bytes for n in _ready(s)))) for s in newest]
    grown = _growth(points, signals)
    if grown is None or grown.total <= 0:
        return None
    largest = max(_ready(newest[-1]), key=lambda node: node.buffered_bytes)
    stage = next((s for s in signals.stages if s.name == largest.name), None)
    where = stage.location if stage is not None else None
    size = stage.fact("buffer_size") if stage is not None else None
    each = largest.buffered_bytes / max(largest.buffered, 1)
    to_come = (size - largest.buffered) * each if isinstance(size, int) and size > 0 else None
    return GrowingBuffers(points[-1][1], grown, largest.name, where, largest.buffered, to_come)


def element_growth(signals: Signals) -> float | None:
    """Return by what factor the batches got larger from the first third to the last.

    None where it is not known. Data that gets longer needs more memory, and leaks none.
    """
    newest = _newest(signals)
    third = len(newest) // 3
    if third < 1:
        return None
    before = _batch_bytes(newest[0], newest[third])
    after = _batch_bytes(newest[-1 - third], newest[-1])
    return after / before if before and after else None


def _batch_bytes(first: Snapshot, last: Snapshot) -> float:
    before, after = first.nodes[first.root], last.nodes[last.root]
    made = after.elements - before.elements
    return (after.bytes_out - before.bytes_out) / made if made > 0 else 0.0


def _newest(signals: Signals) -> list[Snapshot]:
    """Return the snapshots of the pipeline that was made last, while the steps ran."""
    series = snapshots_of(signals.process, signals.loop.id)
    if not series:
        return []
    return [s for s in series[max(series)] if s.at_s >= signals.steps.begin_s]


def _cache_node(snapshot: Snapshot) -> Node | None:
    """Return the node of a cache in memory that something still feeds."""
    for node in snapshot.nodes.values():
        is_fed = any(number in snapshot.nodes for number in node.inputs)
        if node.name.startswith(MEMORY_CACHE) and is_fed and node.elements:
            return node
    return None


def cache_bytes(node: Node) -> float:
    """Return what a cache holds: all that went through it while it was filled."""
    return float(node.buffered_bytes or max(node.bytes_in, node.bytes_out))


def _shown_size(cache: Operation, known: dict[int, Operation]) -> int:
    """Return how many elements go into a cache: -1 for no end, 0 where it is not known."""
    for operation in (cache, *(known[n] for n in cache.inputs if n in known)):
        count = operation.facts.get("cardinality")
        if isinstance(count, int) and count >= -1:
            return count
    return 0


def _ready(snapshot: Snapshot) -> list[Node]:
    """Return the nodes that hold elements ready."""
    return [
        node
        for node in snapshot.nodes.values()
        if not kind_of(node.name).startswith(("shuffle", "cache")) and node.buffered_bytes >= 0
    ]


def _growth(points: list[Point], signals: Signals) -> Growth | None:
    return growth(points, signals.steps)
