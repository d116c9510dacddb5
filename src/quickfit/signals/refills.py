"""The refill of a shuffle at the start of an epoch: how long it takes, and what explains it."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass

from quickfit.findings import Gain
from quickfit.pipeline_model.match import Operation
from quickfit.pipeline_model.stages import kind_of
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.input import operations, snapshots_of
from quickfit.signals.shuffle import ShuffleBuffer
from quickfit.signals.written_chain import below

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
