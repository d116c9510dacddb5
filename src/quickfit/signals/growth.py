"""How a quantity grows from step to step, and whether it goes on growing to the end."""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.signals.steps import Steps

Row = dict[str, Any]  # as the reader hands them out
Point = tuple[float, float]

# Buffers, caches and memory pools fill at first; the first part of the run says nothing.
WARMUP_SHARE = 0.2
# Fewer readings say little about a rate.
MIN_READINGS = 4
# Readings are put together to so many points at most: noise between two of them is no fall.
MAX_PARTS = 8
MIN_RISING_SHARE = 0.8
# In each half of the steps it grows at least at this share of the mean rate.
MIN_HALF_SHARE = 0.4


@dataclass(frozen=True)
class Growth:
    """How a quantity grew after warm-up.

    Args:
        is_steady: whether it grew nearly all the time, in both halves of the steps at a fair rate.
    """

    first: float
    last: float
    window_s: float
    per_s: float
    per_step: float | None
    is_steady: bool

    @property
    def total(self) -> float:
        """The whole growth."""
        return self.last - self.first


def growth(points: Sequence[Point], steps: Steps) -> Growth | None:
    """Return how a quantity grew after the first fifth of the time; None for too few readings."""
    if len(points) < 2:
        return None
    begin_s, end_s = points[0][0], points[-1][0]
    late = [point for point in points if point[0] >= begin_s + WARMUP_SHARE * (end_s - begin_s)]
    window_s = end_s - late[0][0]
    if len(late) < MIN_READINGS or window_s <= 0:
        return None
    total = late[-1][1] - late[0][1]
    done = steps_done(late, steps)
    taken = done[-1] - done[0]
    return Growth(
        first=late[0][1],
        last=late[-1][1],
        window_s=window_s,
        per_s=total / window_s,
        per_step=total / taken if taken else None,
        is_steady=_is_steady(done, [value for _, value in late]),
    )


def steps_done(points: Sequence[Point], steps: Steps) -> list[int]:
    """Return how many steps had ended at each reading."""
    ends = [step.end_s for step in steps.steps]
    return [bisect.bisect_right(ends, at_s) for at_s, _ in points]


def _is_steady(done: list[int], values: list[float]) -> bool:
    """Tell whether a quantity rises nearly always, and in both halves at a fair rate.

    By steps, not by time: while a step is slow, nothing that belongs to steps grows.
    """
    pooled = _pooled(done, values)
    if len(pooled) < MIN_READINGS:
        return False
    rate = _slope(pooled[0], pooled[-1])
    half = (pooled[0][0] + pooled[-1][0]) / 2
    middle = min(pooled[1:-1], key=lambda point: abs(point[0] - half))
    slowest = min(_slope(pooled[0], middle), _slope(middle, pooled[-1]))
    rises = [before[1] < after[1] for before, after in itertools.pairwise(pooled)]
    is_rising = sum(rises) >= MIN_RISING_SHARE * len(rises)
    return rate > 0 and is_rising and slowest >= MIN_HALF_SHARE * rate


def _pooled(done: list[int], values: list[float]) -> list[Point]:
    """Return medians over parts of the readings, those without a step between them together."""
    size = math.ceil(len(done) / MAX_PARTS)
    points: list[Point] = []
    for begin in range(0, len(done), size):
        part = slice(begin, begin + size)
        number, value = statistics.median(done[part]), statistics.median(values[part])
        if points and number <= points[-1][0]:
            points.pop()
        points.append((float(number), value))
    return points


def _slope(first: Point, last: Point) -> float:
    return (last[1] - first[1]) / (last[0] - first[0])


def inside(rows: list[Row], steps: Steps) -> list[Row]:
    """Return the readings while the steps ran."""
    return [row for row in rows if steps.begin_s <= row["at_s"] <= steps.end_s + 1.0]


def points_of(rows: list[Row], name: str) -> list[Point]:
    """Return time and value of every reading that has one."""
    return [(row["at_s"], float(row[name])) for row in rows if row.get(name) is not None]
