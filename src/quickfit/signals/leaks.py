"""Memory that goes on growing to the end: how fast, until when, and with what.

The memory of a healthy run creeps up too: pools fill, buffers find their size, a cache is made.
So a growth counts only when it goes on in every part of the steps at a fair rate, and memory was
asked for as fast as it was used: an array made once fills its pages bit by bit.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from dataclasses import dataclass

from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Exhaustion
from quickfit.signals._facade import Signals
from quickfit.signals.growth import (
    WARMUP_SHARE,
    Growth,
    Point,
    growth,
    inside,
    points_of,
    steps_done,
)
from quickfit.signals.memory import own_points, time_left_s
from quickfit.signals.steps import Steps

# In less time after warm-up a healthy run grows by as much as a leak does.
MIN_WINDOW_S = 12.0
# Healthy runs gained up to 17 MB in the half minute after warm-up, and ever less later. So much
# in half a minute is more than that; in a longer time less will do, down to a third.
MIN_BYTES, IN_S = 30_000_000, 30.0
MIN_SHARE = 0.3
# The readings are cut into so many parts, or fewer where a busy machine let us read seldom.
# They swing by a batch or two, so each part is told by its median; between two of them it grows at
# this share of the mean rate at least.
PARTS, MIN_PARTS = 5, 3
MIN_PART_SHARE = 0.25
# At the end it must still grow at this share of the mean rate: what fills up slows down.
MIN_END_SHARE = 0.6
# Memory in use that was not asked for meanwhile had been asked for before.
MIN_ASKED_SHARE = 0.5


@dataclass(frozen=True)
class Leak:
    """Memory that goes on growing.

    Args:
        growth: of the memory in use, after warm-up.
        asked: the memory asked for meanwhile; None where the system does not tell.
        limit_bytes: what there is; None where the system does not tell.
        in_s: until the limit is reached at this rate.
        begin_s: when the growth is counted from.
        kind: what grows: `cache`, `buffers`, `data` (batches get larger), `models`, `traces`,
            `tensors` or `graph`; empty where nothing that is counted does.
        what: whose memory: `memory` is the machine's.
    """

    growth: Growth
    asked: Growth | None
    limit_bytes: int | None
    in_s: float | None
    begin_s: float
    kind: str = ""
    what: str = "memory"

    @property
    def per_step(self) -> float:
        """Bytes with every step."""
        return self.growth.per_step or 0.0

    @property
    def is_asked(self) -> bool:
        """Whether memory was asked for as it was used; where nobody tells, it is taken to be."""
        return self.asked is None or self.asked.total >= MIN_ASKED_SHARE * self.growth.total

    def evidence(self) -> tuple[Evidence, ...]:
        """Return the growth, and that memory was asked for as well as used."""
        span = f"in {self.growth.window_s:.0f} s after warm-up, to the end"
        found = [Evidence(f"more {self.what} in use", self.growth.total, "bytes", span)]
        if self.asked is not None:
            what = "more memory asked for in the same time"
            found.append(Evidence(what, self.asked.total, "bytes"))
        return tuple(found)

    def exhaustion(self) -> Exhaustion:
        """Return what a finding says of it."""
        grown = self.growth
        return Exhaustion(
            *(self.what, "bytes", grown.total, grown.per_step, grown.per_s),
            self.limit_bytes,
            self.in_s,
        )


def memory_leak(signals: Signals) -> Leak | None:
    """Return the growth of memory where it goes on to the end; None where it does not.

    Raises:
        SignalMissing: the steps ran for too short a time to tell.
    """
    memory, steps = signals.memory, signals.steps
    rows = inside(signals.process.rows("machine"), steps)
    points = own_points(rows)
    late = after_warm_up(points)
    if memory.rss is None or late[-1][0] - late[0][0] < MIN_WINDOW_S:
        raise SignalMissing(f"{MIN_WINDOW_S / (1 - WARMUP_SHARE):.0f} seconds of steps")
    least = MIN_BYTES * min(max(IN_S / memory.rss.window_s, MIN_SHARE), 1.0)
    if memory.rss.total < least or not goes_on(by_steps(late, steps)):
        return None
    asked = growth(points_of(rows, "data_bytes"), steps)
    in_s = time_left_s(memory.rss.per_s, memory.limit_bytes, memory.used_bytes)
    grown = per_batch(memory.rss, signals)
    return Leak(grown, asked, memory.limit_bytes, in_s, late[0][0])


def per_batch(grown: Growth, signals: Signals) -> Growth:
    """Return a growth whose steps are those of the model, where one call takes several."""
    if grown.per_step is None:
        return grown
    return dataclasses.replace(grown, per_step=grown.per_step / signals.steps_per_execution)


def after_warm_up(points: list[Point]) -> list[Point]:
    """Return the readings after the first fifth of the time, in which pools and buffers fill."""
    begin_s = points[0][0] + WARMUP_SHARE * (points[-1][0] - points[0][0])
    return [point for point in points if point[0] >= begin_s]


def by_steps(points: list[Point], steps: Steps) -> list[Point]:
    """Return readings by the number of steps that were done, instead of by time."""
    done = steps_done(points, steps)
    return [(float(number), value) for number, (_, value) in zip(done, points, strict=True)]


def goes_on(points: list[Point]) -> bool:
    """Tell whether a quantity grows in every part of the steps, and still at the end.

    Args:
        points: steps done, and the quantity.
    """
    levels = _levels(points)
    steps = [b[0] - a[0] for a, b in itertools.pairwise(levels)]
    if len(levels) < MIN_PARTS or min(steps) <= 0:
        return False
    rates = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(levels)]
    mean = (levels[-1][1] - levels[0][1]) / (levels[-1][0] - levels[0][0])
    return mean > 0 and min(rates) >= MIN_PART_SHARE * mean and rates[-1] >= MIN_END_SHARE * mean


def _levels(points: list[Point]) -> list[Point]:
    """Return the middle of each part, as many readings in one as in the other."""
    number = min(PARTS, len(points) // 2)
    ends = [round(place * len(points) / max(number, 1)) for place in range(number + 1)]
    parts = [points[first:last] for first, last in itertools.pairwise(ends)]
    return [(statistics.fmean(p[0] for p in part), _median(part)) for part in parts]


def _median(part: list[Point]) -> float:
    return statistics.median(value for _, value in part)
