"""Memory that goes on growing to the end, on the host or on a GPU, and what may still stop it."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Exhaustion
from quickfit.lab.statistics import half_width
from quickfit.signals.holders import Holder
from quickfit.signals.memory import (
    WARMUP_SHARE,
    Growth,
    Point,
    growth,
    inside,
    memory_limit,
    own_points,
    points_of,
    steps_done,
    time_left_s,
)
from quickfit.signals.steps import Steps

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# What pools explain: healthy runs gained up to 17 MB in the half minute after warm-up, 70 MB in
# their first ten seconds, and ever less later. So the least that counts is 30 MB in half a minute,
# more in a shorter time, up to 100 MB, and less in a longer one, down to 9 MB.
MIN_BYTES, IN_S = 30_000_000, 30.0
MAX_POOLS_BYTES, MIN_POOLS_BYTES = 100_000_000, 9_000_000
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
        holder: the name of the script that holds it, where looks at its names tell.
        process_bytes: the growth of the process, where the growth itself is that of the holder.
        low: bytes with every step, at least; as sure as its own parts make it (95 %).
        high: and at most.
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
    holder: Holder | None = None
    process_bytes: float | None = None
    low: float | None = None
    high: float | None = None

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
        if self.holder is not None and self.process_bytes is not None:
            span = f"by the process in {self.growth.window_s:.0f} s"
            found = [Evidence("more memory in use", self.process_bytes, "bytes", span)]
        if self.holder is not None:
            name, held = self.holder.name, self.holder.held_bytes
            counted = f"counted in {len(self.holder.looks)} looks"
            if self.low is not None and self.high is not None:
                counted += f": {_each(self.low, self.high)} more with every step"
            found.append(Evidence(f"is held by `{name}`", held, "bytes", counted))
        elif self.asked is not None:
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


def _each(low: float, high: float) -> str:
    below, above = units.size(low), units.size(high)
    return below if below == above else f"{below} to {above}"


def memory_leak(signals: Signals) -> Leak | None:
    """Return the growth of memory where it goes on to the end; None where it does not.

    Raises:
        SignalMissing: there are too few readings to tell.
    """
    memory, steps = signals.memory, signals.steps
    rows = inside(signals.process.rows("machine"), steps)
    points = own_points(rows)
    late = after_warm_up(points)
    if memory.rss is None or len(late) < 2 * MIN_PARTS:
        wanted = f"{2 * MIN_PARTS} readings of memory while steps ran"
        raise SignalMissing(f"{wanted} (seen: {len(late)})")
    readings = by_steps(late, steps)
    low, high = rate_interval(readings)
    sure = low * (readings[-1][0] - readings[0][0])
    if sure < pools_bytes(memory.rss.window_s) or not goes_on(readings):
        return None
    asked = growth(points_of(rows, "data_bytes"), steps)
    in_s = time_left_s(memory.rss.per_s, memory.limit_bytes, memory.used_bytes)
    grown = per_batch(memory.rss, signals)
    each = signals.steps_per_execution
    told = (grown, asked, memory.limit_bytes, in_s, late[0][0])
    return Leak(*told, low=low / each, high=high / each)


def pools_bytes(window_s: float) -> float:
    """Return what pools and buffers of a healthy run may gain in a time after warm-up."""
    usual = MIN_BYTES * IN_S / max(window_s, 1e-9)
    return min(max(usual, MIN_POOLS_BYTES), MAX_POOLS_BYTES)


def rate_interval(points: list[Point]) -> tuple[float, float]:
    """Return the growth per step, at least and at most (95 %), by its own parts.

    Memory wanders: a reading is the one before and some more. So what is independent, and has a
    spread, is the growth from part to part, and not the distance from a line.

    Args:
        points: steps done, and the quantity.
    """
    levels = _levels(points)
    rates = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(levels) if b[0] > a[0]]
    if len(rates) < 2:
        return -math.inf, math.inf
    mean = (levels[-1][1] - levels[0][1]) / (levels[-1][0] - levels[0][0])
    count, middle = len(rates), statistics.fmean(rates)
    # What swings around a line goes up and then down again: the mean is that much less in doubt,
    # by two fifths at most, since a few parts may do so by chance.
    turns = sum((a - middle) * (b - middle) for a, b in itertools.pairwise(rates)) / (count - 1)
    spread = statistics.variance(rates)
    spread = max(spread + 2 * min(turns, 0.0), 0.6 * spread)
    half = half_width(math.sqrt(spread), count)
    return mean - half, mean + half


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


@dataclass(frozen=True)
class DeviceMemory:
    """The fullest device: what was in use when last read, at most, and by how much it grew."""

    device: str
    bytes: int
    peak_bytes: int
    grown: int


def device_memory(signals: Signals) -> DeviceMemory | None:
    """Return the memory of the device that used most; None where nobody read any."""
    series: dict[str, list[dict[str, int]]] = {}
    for row in signals.process.rows("device_memory"):
        series.setdefault(row["device"], []).append(row)
    found = [_summary(device, rows) for device, rows in series.items()]
    return max(found, key=lambda memory: memory.peak_bytes, default=None)


def device_leak(signals: Signals) -> Leak | None:
    """Return the growth of a GPU's memory where it goes on to the end; its limit is not known."""
    memory, steps = device_memory(signals), signals.steps
    if memory is None:
        return None
    rows = [r for r in signals.process.rows("device_memory") if r["device"] == memory.device]
    points = points_of(inside(rows, steps), "bytes")
    grown = growth(points, steps)
    if grown is None or grown.total < MIN_BYTES:
        return None
    late = after_warm_up(points)
    if not goes_on(by_steps(late, steps)):
        return None
    return Leak(grown, None, None, None, late[0][0], what="GPU memory")


def _summary(device: str, rows: list[dict[str, int]]) -> DeviceMemory:
    used = [row["bytes"] for row in rows]
    peak = max(max(used), *(row["peak_bytes"] or 0 for row in rows), 0)
    return DeviceMemory(device, used[-1], peak, used[-1] - used[0])


# Steps of later epochs, of all: two parts of the five that a growth is looked at in.
MIN_LATER_SHARE = 0.4
# In a first epoch a cache may be filling: so much of the memory is gone where it is more than that.
MIN_LIMIT_SHARE = 0.04
# A cache that fills in the first epoch is too much if it takes this share of the memory left.
MIN_FREE_SHARE = 0.8


def first_epoch_left(signals: Signals) -> int | None:
    """Return the steps left of the first epoch; None where it is over, or its end not known."""
    planned = planned_steps(signals)
    if planned is None or is_past_first_epoch(signals):
        return None
    return max(planned - int(_steps(signals)[-1]["step"]), 0)


def is_past_first_epoch(signals: Signals) -> bool:
    """Tell whether much of the steps came after the first epoch; what fills in it is full then."""
    steps = _steps(signals)
    later = sum(1 for step in steps if step["epoch"] != steps[0]["epoch"])
    return later >= MIN_LATER_SHARE * len(steps)


def grows_for_good(signals: Signals, leak: Leak) -> bool:
    """Tell whether a growth is none that ends with the first epoch, as that of a cache does.

    It goes on after that epoch; or it has taken much of the memory, and what is left would not
    last until the epoch ends.
    """
    is_large = leak.growth.total >= MIN_LIMIT_SHARE * (leak.limit_bytes or math.inf)
    if not is_past_first_epoch(signals) and not is_large:
        return False
    left = first_epoch_left(signals)
    limit, used = memory_limit(signals.process)
    if left is None or limit is None or used is None:
        return True
    return left * leak.per_step >= MIN_FREE_SHARE * (limit - used)


def _steps(signals: Signals) -> list[dict[str, Any]]:
    return [row for row in signals.process.rows("steps") if row["loop"] == signals.loop.id]


def planned_steps(signals: Signals) -> int | None:
    """Return the steps of an epoch as `fit` was told, or as its data has them."""
    facts = signals.loop.facts
    for name in ("steps_per_epoch", "steps", "data_batches"):
        count = facts.get(name)
        if isinstance(count, int) and count > 0:
            return -(-count // signals.steps_per_execution)
    return None
