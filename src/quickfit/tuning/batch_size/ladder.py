"""Which batch sizes to try next and which to use, by lines through what was measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quickfit.lab.statistics import MIN_GAIN
from quickfit.tuning.batch_size.question import BatchQuestion
from quickfit.tuning.trials.settings import TrialBlock, TrialFailure, TrialLearned

# Below this, a step is mostly the cost of starting one; nobody's batch is there but on purpose.
FIRST_RUNG = 8
# How many doublings are started at once, before it is known whether they still gain.
AT_ONCE = 2
# How far the line of memory is trusted beyond the largest batch that ran.
FARTHEST = 16


@dataclass(frozen=True)
class SeenSizes:
    """What is known when the next sizes are chosen.

    Args:
        rows: of all sizes that were tried or ruled out.
        own: the batch that the user has; None where it is not known.
        samples: in the data; None where they are not counted.
        fits: tells whether a size will fit in memory.
    """

    rows: Mapping[int, BatchRow]
    own: int | None
    samples: int | None
    fits: Callable[[int], bool]

    @property
    def ran(self) -> list[BatchRow]:
        """What was measured, rising."""
        return measured_rows(self.rows.values())

    @property
    def lowest_failure(self) -> int | None:
        """The smallest batch that failed; larger ones are not tried."""
        failed = [row.batch for row in self.rows.values() if row.failure is not None]
        return min(failed, default=None)


def next_sizes(question: BatchQuestion, seen: SeenSizes) -> list[int]:
    """Return the sizes to try next, the most telling ones first; none where the search is over."""
    if question.sizes is not None:
        wanted = list(question.sizes)
    elif not seen.ran:
        wanted = _lower_size(seen)
    elif question.mode == "max":
        wanted = _largest_fitting(question, seen)
    elif len(seen.ran) == 1:
        wanted = _sizes_around(question, seen)
    else:
        wanted = _higher_sizes(seen) + _size_between(question, seen)
    return [size for size in dict.fromkeys(wanted) if is_untried(size, question, seen)]


def is_untried(size: int, question: BatchQuestion, seen: SeenSizes) -> bool:
    """Tell whether a size may be tried, and was not yet."""
    most = question.most(seen.samples)
    failed = seen.lowest_failure
    is_too_large = most is not None and size > most
    is_above_failure = failed is not None and size > failed
    return size >= 1 and size not in seen.rows and not is_too_large and not is_above_failure


def _lower_size(seen: SeenSizes) -> list[int]:
    """Return the next smaller size, one at a time, where nothing has come to its end."""
    failed = seen.lowest_failure
    return [] if failed is None else _powers_below(failed, least=1)[:1]


def _sizes_around(question: BatchQuestion, seen: SeenSizes) -> list[int]:
    """Return powers of two on both sides of the first size, the nearest first."""
    first, most = seen.ran[0].batch, question.most(seen.samples)
    if most is not None and most < first:
        return [most, *_powers_below(most)]
    above, below = _powers_above(first, AT_ONCE), _powers_below(first)
    # Far below, every other one is enough to see the curve.
    below = below[:2] + below[3::2] if len(below) > 4 else below
    nearest = [size for pair in zip(above, below, strict=False) for size in pair]
    return nearest + above[len(below) :] + below[len(above) :]


def _higher_sizes(seen: SeenSizes) -> list[int]:
    """Return the next doublings, where the last one still gained."""
    top, others = seen.ran[-1], seen.ran[:-1]
    if top.samples_per_s < best_samples_per_s(others) * MIN_GAIN:
        return []
    return _powers_above(top.batch, AT_ONCE)


def _size_between(question: BatchQuestion, seen: SeenSizes) -> list[int]:
    """Return the size that was left out just below the one that would be chosen."""
    chosen = choose_row(question, seen.ran)
    if chosen is None:
        return []
    below = max((row.batch for row in seen.ran if row.batch < chosen.batch), default=None)
    return [] if below is None else [n for n in _powers_below(chosen.batch)[:1] if n > below]


def _largest_fitting(question: BatchQuestion, seen: SeenSizes) -> list[int]:
    """Return the largest power of two that fits by the line of memory, at most so far away.

    The most that is allowed comes in between the powers, where it fits as well.
    """
    top, most = seen.ran[-1].batch, question.most(seen.samples)
    if most is not None and most <= top:
        return [most]
    if len(seen.ran) == 1:
        # A second point, from which the line comes.
        return _powers_above(top, 1) if seen.fits(2 * top) else _powers_below(top, 1)[:1]
    sizes = [n for n in _powers_above(top, FARTHEST.bit_length()) if n <= FARTHEST * top]
    if most is not None and most < FARTHEST * top:
        sizes.append(most)
    fitting = [n for n in sizes if is_untried(n, question, seen) and seen.fits(n)]
    return [max(fitting)] if fitting else []


def _powers_above(size: int, count: int) -> list[int]:
    first = 1 << size.bit_length()
    return [first << number for number in range(count)]


def _powers_below(size: int, least: int = FIRST_RUNG) -> list[int]:
    """Return the powers of two under a size, falling, down to the least."""
    powers = [1 << bit for bit in range(size.bit_length())]
    return [n for n in reversed(powers) if least <= n < size]


# The smallest batch that gives up no more than this is the one to take: a smaller batch makes
# more updates of the same samples.
NEAR_BEST = 0.9
# A part of an effective batch may be this much smaller than the batch that was chosen.
LEAST_PART = 0.5


def choose_row(question: BatchQuestion, rows: Sequence[BatchRow]) -> BatchRow | None:
    """Return the measured row to use; None where none may be used."""
    most = question.most(None)
    allowed = [row for row in rows if row.is_measured and (most is None or row.batch <= most)]
    if not allowed:
        return None
    if question.mode == "max":
        return max(allowed, key=lambda row: row.batch)
    enough = best_samples_per_s(allowed) * NEAR_BEST
    return min((row for row in allowed if row.samples_per_s >= enough), key=lambda row: row.batch)


def split_effective_batch(
    effective: int, batch: int, preferred: Sequence[int] = ()
) -> tuple[int, int]:
    """Return the micro-batch and how many of them make up an effective batch.

    The micro-batch is never above `batch`. Where the effective batch has no divisor near it, the
    product is the next larger one that has.

    Args:
        effective: samples per update.
        batch: the largest micro-batch.
        preferred: sizes that are taken, the largest first, where they divide it.
    """
    for size in sorted(preferred, reverse=True):
        if batch * LEAST_PART <= size <= batch and effective % size == 0:
            return size, effective // size
    fewest = math.ceil(effective / batch)
    for count in range(fewest, math.floor(effective / max(batch * LEAST_PART, 1)) + 1):
        if effective % count == 0:
            return effective // count, count
    return math.ceil(effective / fewest), fewest


FitPoint = tuple[float, float]


@dataclass(frozen=True)
class FittedLine:
    """`at_zero + per_sample × batch`, and how well it fits.

    Args:
        at_zero: what each step has, however small it is.
        per_sample: what each sample adds.
        r2: the share of the variation that the line explains.
        residual: how far the points are from it, as a share of each (root of the mean square).
    """

    at_zero: float
    per_sample: float
    r2: float
    residual: float

    def at(self, batch: float) -> float:
        """Return the value for a batch."""
        return self.at_zero + self.per_sample * batch


def fit_line(points: Sequence[FitPoint]) -> FittedLine | None:
    """Return the line that is nearest to points relative to their size; None for fewer than two.

    Relative, because a step of a large batch takes a hundred times that of a small one: its noise
    alone would outweigh all small ones.
    """
    if len({batch for batch, _ in points}) < 2:
        return None
    weights = [1 / value**2 for _, value in points]
    total = sum(weights)
    x_mean = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    y_mean = sum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    xy = sum(w * (x - x_mean) * (y - y_mean) for w, (x, y) in zip(weights, points, strict=True))
    xx = sum(w * (x - x_mean) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    yy = sum(w * (y - y_mean) ** 2 for w, (_, y) in zip(weights, points, strict=True))
    slope = xy / xx
    start = y_mean - slope * x_mean
    off = [(start + slope * x) / y - 1 for x, y in points]
    squares = sum(share**2 for share in off)
    r2 = 1 - squares / yy if yy > 0 else 1.0
    return FittedLine(start, slope, r2, math.sqrt(squares / len(points)))


def expected_bytes(points: Sequence[FitPoint], batch: int, base_bytes: float = 0.0) -> float | None:
    """Return the memory that a batch will need, on the safe side; None where nothing is known.

    From one point: all of it but the base grows with the batch. From several: the steeper of the
    lines through the last three and the last two, so that memory that grows faster than the batch
    is seen.

    Args:
        points: batches and what they held.
        batch: the one to tell of.
        base_bytes: what is held before there is a model.
    """
    known = sorted(points)
    if not known:
        return None
    top_batch, top_bytes = known[-1]
    if batch <= top_batch:
        return next(value for size, value in known if size >= batch)
    steepest = (top_bytes - (base_bytes if base_bytes < top_bytes else 0.0)) / top_batch
    if len(known) > 1:
        lines = [fit for fit in (fit_line(known[-3:]), fit_line(known[-2:])) if fit is not None]
        slope = max(fit.per_sample for fit in lines)
        # A slope that falls is noise, and says nothing.
        steepest = slope if slope > 0 else steepest
    return top_bytes + steepest * (batch - top_batch)


# Starting several trials at once on few cores takes longer than the cores alone explain, and the
# last one longer than the first where the machine has become busier.
START_TOLL = 1.3
# A size costs about so many steps: the first ones, and the turns.
STEPS_PER_SIZE = 8


@dataclass(frozen=True)
class TrialCosts:
    """What trials took so far.

    Args:
        start_s: one took to start.
        cores: that start one each at the same time.
        step_s: tells how long a step of a size will take.
    """

    start_s: float
    cores: int
    step_s: Callable[[int], float]

    def size_s(self, size: int, at_once: int = 1) -> float:
        """Return how long a size takes to start and to measure, where several start together."""
        steps_s = STEPS_PER_SIZE * self.step_s(size)
        return START_TOLL * self.start_s / min(self.cores, at_once) + steps_s

    def least_s(self, sizes: Iterable[int]) -> float:
        """Return how long the soonest of some sizes takes alone."""
        return min(map(self.size_s, sizes))

    def affordable(self, sizes: list[int], left_s: float) -> list[int]:
        """Return the sizes for which there is time, in their order."""
        taken = []
        for size in sizes:
            cost_s = self.size_s(size, len(sizes))
            if cost_s <= left_s:
                taken.append(size)
                left_s -= cost_s
        return taken


@dataclass(frozen=True)
class BatchRow:
    """One batch size, as far as it was tried.

    Args:
        batch: samples per step.
        steps_s: the time of one step, once per round.
        peak_bytes: the most memory the trial held; what it would need where it was not tried.
        failure: how the trial ended, where it did not end well.
        words: why it was not tried or how it failed, in one line.
        text: all that is known of a failure: the child's own traceback, its last lines.
        is_own: it is the batch that the user has.
        learned: how far it came on some samples, where that was compared.
    """

    batch: int
    steps_s: tuple[float, ...] = ()
    peak_bytes: float = 0.0
    failure: TrialFailure | None = None
    words: str = ""
    text: str = ""
    is_own: bool = False
    learned: TrialLearned | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it ran, and how fast is known."""
        return bool(self.steps_s) and self.failure is None

    @property
    def step_s(self) -> float:
        """The time of one step: the least of all rounds, which other programs disturbed least."""
        return min(self.steps_s)

    @property
    def samples_per_s(self) -> float:
        """Samples per second at that."""
        return self.batch / self.step_s

    @property
    def spread(self) -> float:
        """How far the middle round is above the fastest one, as a share of it."""
        return statistics.median(self.steps_s) / self.step_s - 1

    def with_block(self, block: TrialBlock) -> BatchRow:
        """Return the row with one more round."""
        # By samples, because the last batch of an epoch may be a smaller one.
        step_s = max(block.sample_s * self.batch, 1e-9)
        peak_bytes = max(self.peak_bytes, block.peak_bytes)
        return replace(self, steps_s=(*self.steps_s, step_s), peak_bytes=peak_bytes)


def measured_rows(rows: Iterable[BatchRow]) -> list[BatchRow]:
    """Return the rows that say how fast, from the smallest batch up."""
    return sorted((row for row in rows if row.is_measured), key=lambda row: row.batch)


def best_samples_per_s(rows: Iterable[BatchRow]) -> float:
    """Return the most samples per second that were measured; 0 where nothing was."""
    return max((row.samples_per_s for row in rows if row.is_measured), default=0.0)
