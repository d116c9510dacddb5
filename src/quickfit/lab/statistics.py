"""What measured numbers are worth: intervals over pairs, paces by own time, and trends."""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quickfit.findings import MIN_GAIN

__all__ = ["MIN_GAIN"]
# Caches and clock speed have settled this long after a program was let run.
SETTLE_S = 0.1
# Student's t for a 95 % interval, by degrees of freedom; from ten on it changes little.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
# The same of very many.
NORMAL_95 = 1.96
# Two identical programs differ by this much between pairs on a quiet machine; a few ratios that
# happen to agree better say no more than that.
MIN_SPREAD = 0.01
# An interval around 1 whose ends differ by more says nothing: half as fast or nearly twice as fast.
WIDEST = 3.5


@dataclass(frozen=True)
class Measured:
    """How many times faster: a mean over pairs, and the interval it lies in."""

    low: float
    mean: float
    high: float
    pairs: int

    @property
    def is_known(self) -> bool:
        """Whether there is an interval that says something: faster, slower, or how much."""
        is_one_sided = self.low >= 1.0 or self.high <= 1.0
        return self.pairs > 1 and (is_one_sided or self.high <= WIDEST * self.low)


def interval(ratios: Sequence[float], *, widened: float = 1.0, t: float | None = None) -> Measured:
    """Return the mean of ratios and the 95 % interval around it; ratios multiply.

    Args:
        ratios: one per pair, at least one.
        widened: a factor on the width, for pairs that were not measured in turns.
        t: Student's t of another interval than one of 95 %.
    """
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    if len(logs) == 1:
        return Measured(0.0, math.exp(mean), math.inf, 1)
    spread = max(statistics.stdev(logs), MIN_SPREAD)
    half = widened * half_width(spread, len(logs), t=t)
    return Measured(math.exp(mean - half), math.exp(mean), math.exp(mean + half), len(logs))


def half_width(deviation: float, count: int, *, t: float | None = None) -> float:
    """Return how far the mean of so many values may be off: half of its 95 % interval.

    Args:
        deviation: their standard deviation.
        count: two or more.
        t: Student's t of another interval.
    """
    t = t or _T95[min(count - 1, len(_T95)) - 1]
    return t * deviation / math.sqrt(count)


def mean_doubt(values: Sequence[float]) -> float:
    """Return half of the 95 % interval of the mean of values, as a share of it."""
    if len(values) < 2:
        return math.inf
    return half_width(statistics.stdev(values), len(values)) / statistics.fmean(values)


Span = Sequence[float]


@dataclass(frozen=True)
class Window:
    """A stretch of a program's work: what it did, in its own seconds."""

    progress: float
    own_s: float

    @property
    def pace_s(self) -> float:
        """Own seconds for one unit of progress."""
        return self.own_s / self.progress


class OwnTime:
    """The clock of one program that only goes while the program is let run.

    Args:
        spans: begin and end of each time it was let run, in order.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = [(span[0], span[1]) for span in spans if len(span) == 2]
        self._before = [0.0]
        for begin_s, end_s in self._spans:
            self._before.append(self._before[-1] + end_s - begin_s)

    @property
    def total_s(self) -> float:
        """How long it was let run in all."""
        return self._before[-1]

    def at(self, at_s: float) -> float:
        """Return the own time at a moment of the common clock."""
        number = bisect.bisect_right([begin_s for begin_s, _ in self._spans], at_s)
        if number == 0:
            return 0.0
        begin_s, end_s = self._spans[number - 1]
        return self._before[number - 1] + min(at_s, end_s) - begin_s

    def settling(self) -> list[tuple[float, float]]:
        """Return the first moments of each turn but the first, in own time."""
        return [
            (own_s, own_s + min(SETTLE_S, end_s - begin_s))
            for own_s, (begin_s, end_s) in list(zip(self._before, self._spans, strict=False))[1:]
        ]


def window(
    clock: OwnTime, marks: Sequence[tuple[float, float]], *, settles: bool = True
) -> Window | None:
    """Return the work between the first and the last mark.

    Args:
        clock: of the program.
        marks: moments of the common clock, and how far the program was, in order.
        settles: the first moments of each turn are left out; else all of the time counts.
    """
    points = [(clock.at(at_s), done) for at_s, done in marks]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    begin, end = points[0], points[-1]
    own_s, progress = end[0] - begin[0], end[1] - begin[1]
    for from_s, to_s in clock.settling() if settles else ():
        from_s, to_s = max(from_s, begin[0]), min(to_s, end[0])
        if to_s > from_s:
            own_s -= to_s - from_s
            progress -= _progress_at(points, to_s) - _progress_at(points, from_s)
    return Window(progress, own_s) if progress > 0 and own_s > 0 else None


def _progress_at(points: Sequence[tuple[float, float]], own_s: float) -> float:
    """Return how far a program was at an own time between its first and last mark."""
    for (before_s, before), (after_s, after) in pairwise(points):
        if before_s <= own_s <= after_s and after_s > before_s:
            return before + (after - before) * (own_s - before_s) / (after_s - before_s)
    return points[0][1] if own_s <= points[0][0] else points[-1][1]


Point = tuple[float, float]

# Ranks of fewer blocks prove little: all of them must agree to count as much as these do.
MIN_BLOCKS = 8
# Of fewer values, such as epochs, nothing is said.
MIN_POINTS = 4
# Longer series are merged before they are looked at.
MAX_POINTS = 2048
# Points that a block has at least, where there are enough of them for so many blocks.
BLOCK_POINTS, ENOUGH_BLOCKS = 4, 12
# The first look, and how many times as much the next one sees. Of fewer steps than blocks, ranks
# can be certain only if nearly all of them agree, and two looks in a row.
FIRST_LOOK, NEXT_LOOK = MIN_BLOCKS, 1.25
# The level at first and at the end is that of this part of the run.
END_SHARE = 1 / 6
MIN_END_BLOCKS = 2
# A series that goes on growing does so in each half at a tenth of the whole rate or more.
MIN_HALF_RATE = 0.1


@dataclass(frozen=True)
class Middle:
    """What stands for a block, and how many blocks there are at most."""

    of: Callable[[list[float]], float]
    blocks: int


MEDIAN = Middle(statistics.median, 48)
# Work that is done every so many steps is in the mean only, of blocks that have some of it each.
MEAN = Middle(statistics.fmean, 16)


@dataclass(frozen=True)
class Trend:
    """How a series went.

    Args:
        first: its level in the first part.
        last: its level in the last part.
        z: of Mann and Kendall's test; chance alone stays below 3 nearly always.
        is_steady: whether it grows in both halves, so that it was not one jump.
        blocks: how many of them were compared.
    """

    first: float
    last: float
    z: float
    is_steady: bool
    blocks: int

    @property
    def growth(self) -> float:
        """How much more it is at the end."""
        return self.last - self.first

    @property
    def ratio(self) -> float:
        """How many times as much it is at the end."""
        return self.last / self.first if self.first > 0 else math.inf if self.last > 0 else 1.0


def trend(points: Sequence[Point], middle: Middle = MEDIAN) -> Trend | None:
    """Return how a series went; None where it has too few points.

    Args:
        points: how far the run was, and the value there; in order.
        middle: what stands for a block: the median, or the mean where rare values count too.
    """
    blocks = blocks_of(points, middle)
    if len(blocks) < MIN_POINTS:
        return None
    values = [value for _, value in blocks]
    rate = slope(blocks)
    half = len(blocks) // 2
    rates = (slope(blocks[: half + 1]), slope(blocks[half:]))
    return Trend(
        first=statistics.median(_end(blocks, is_last=False)),
        last=statistics.median(_end(blocks, is_last=True)),
        z=mann_kendall(values),
        is_steady=rate > 0 and min(rates) >= MIN_HALF_RATE * rate,
        blocks=len(blocks),
    )


def blocks_of(points: Sequence[Point], middle: Middle) -> list[Point]:
    """Return the middle of the points in each of some equal parts of the run."""
    if len(points) < MIN_POINTS:
        return []
    count = min(middle.blocks, max(len(points) // BLOCK_POINTS, ENOUGH_BLOCKS))
    begin, end = points[0][0], points[-1][0]
    width = (end - begin) / count
    if width <= 0:
        return []
    parts: dict[int, list[Point]] = {}
    for point in points:
        parts.setdefault(min(int((point[0] - begin) / width), count - 1), []).append(point)
    return [
        (statistics.fmean(at for at, _ in part), middle.of([value for _, value in part]))
        for _, part in sorted(parts.items())
    ]


def _end(blocks: list[Point], *, is_last: bool) -> list[float]:
    """Return the values of the first or last blocks."""
    begin, end = blocks[0][0], blocks[-1][0]
    reach = END_SHARE * (end - begin)
    inside = [v for at, v in blocks if (end - at if is_last else at - begin) <= reach]
    if len(inside) < MIN_END_BLOCKS:
        ends = blocks[-MIN_END_BLOCKS:] if is_last else blocks[:MIN_END_BLOCKS]
        return [value for _, value in ends]
    return inside


def mann_kendall(values: Sequence[float]) -> float:
    """Return how much oftener later values are larger than earlier ones, in standard deviations.

    Fewer than eight values are told as if there were eight of which as many pairs agree.
    """
    count = len(values)
    score = sum(_sign(later - earlier) for earlier, later in itertools.combinations(values, 2))
    if 1 < count < MIN_BLOCKS:
        pairs = MIN_BLOCKS * (MIN_BLOCKS - 1) / 2
        deviation = math.sqrt(_pairs_variance(MIN_BLOCKS) / 18)
        return score / (count * (count - 1) / 2) * (pairs - 1) / deviation
    ties = [values.count(value) for value in set(values)]
    variance = (_pairs_variance(count) - sum(_pairs_variance(tie) for tie in ties)) / 18
    if variance <= 0 or score == 0:
        return 0.0
    return (score - _sign(score)) / math.sqrt(variance)


def _pairs_variance(count: int) -> float:
    return count * (count - 1) * (2 * count + 5)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def slope(points: Sequence[Point]) -> float:
    """Return the median slope between any two points (Theil and Sen)."""
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for earlier, later in itertools.combinations(points, 2)
        if later[0] > earlier[0]
    ]
    return statistics.median(slopes) if slopes else 0.0


def merged(points: Sequence[Point], middle: Middle) -> Sequence[Point]:
    """Return a series with so many neighbours put together that a few thousand points are left.

    By powers of two, from its begin: what was put together stays so as the series grows.
    """
    size = 1
    while len(points) > size * MAX_POINTS:
        size *= 2
    if size == 1:
        return points
    parts = (points[begin : begin + size] for begin in range(0, len(points), size))
    return [(part[-1][0], middle.of([value for _, value in part])) for part in parts]


def looks(total: int, first: int = FIRST_LOOK) -> list[int]:
    """Return how many steps were done at each look so far, the first one first."""
    found: list[int] = []
    look = first
    while look <= total:
        found.append(look)
        look = max(int(look * NEXT_LOOK), look + 1)
    return found


def until(points: Sequence[Point], at: float) -> Sequence[Point]:
    """Return the points of a series up to a place."""
    return points[: bisect.bisect_right(points, (at, math.inf))]
