"""Where a cache may stand in a pipeline, what it would hold, and what it would save."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.errors import SignalMissing
from quickfit.findings import Gain, Location
from quickfit.pipeline_model.match import Operation
from quickfit.signals import Signals
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage
from quickfit.signals.written_chain import (
    below,
    cached_below,
    main_line,
    may_be_random,
    stages_of,
    written,
)

# What a cached element costs: a copy, and the calls that hand it on.
ELEMENT_S = 5e-6
BYTES_PER_S = 3e9
# What Keras itself does between two epochs: 3 ms where measured.
EPOCH_S = 0.005
# From this share of the time on, making the pipeline anew in every epoch is worth a claim.
MIN_MAKING_SHARE = 0.05
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
        if operation.kind not in _NOT_HERE and saved_s > 1.05 * best_s:
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
