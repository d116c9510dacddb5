"""Memory while the steps ran: its level, how it grows, what grows, and when it will run out."""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.steps import Steps

# A kept tensor costs Python 125 bytes per step, wherever its values lie; a kept number 32, which
# is no leak, and what a healthy `fit` holds on to between two collections comes to 16.
MIN_LINE_BYTES_PER_STEP = 48
MIN_LINE_GROWTH_BYTES = 32_768
# A healthy run may gain a few megabytes a minute for a while.
MIN_RSS_GROWTH_BYTES = 10_000_000
MIN_RSS_BYTES_PER_S = 10_000_000 / 60
# Objects of a kind that grew by less than this may be between two collections.
MIN_OBJECTS_GROWTH = 50


# One part of a run that holds so much is worth a word: a gigabyte, or a tenth of a small machine.
LARGE_BYTES, LARGE_SHARE = 1_000_000_000, 0.10


def large_bytes(limit: int | None) -> float:
    """Return from which level on what one part of a run holds is large."""
    return min(LARGE_BYTES, LARGE_SHARE * limit) if limit else LARGE_BYTES


@dataclass(frozen=True)
class GrowingLine:
    """A user's line whose memory grows to the end of the run."""

    location: Location
    growth: Growth
    blocks_per_step: float | None


@dataclass(frozen=True)
class MemoryUse:
    """Memory of the training process; None where the system does not tell.

    Args:
        rss: growth of the memory in use, without pages of files, which the system can drop.
        asked: growth of the memory asked for, whether it was used yet or not.
        limit_bytes: what the container, or else the machine, can give.
        exhausted_in_s: until the limit is reached at the rate of `rss`; None without growth.
        objects: growth of live objects by kind: tensors, variables, graphs, models.
        device_bytes: peak memory by device.
    """

    rss_bytes: int
    rss: Growth | None
    python_blocks: Growth | None
    asked: Growth | None
    limit_bytes: int | None
    used_bytes: int | None
    exhausted_in_s: float | None
    objects: dict[str, Growth]
    device_bytes: dict[str, int]

    @property
    def is_growing(self) -> bool:
        """Whether memory grows to the end, and fast enough to matter."""
        return _matters(self.rss)


def memory_use(
    process: ProcessRecording, steps: Steps, *, begun_s: float | None = None
) -> MemoryUse | None:
    """Return level and growth of memory while the steps ran; None without any reading.

    Args:
        process: the one that trains.
        steps: after warm-up.
        begun_s: when objects were counted from; they are few, and none may be lost to warm-up.
    """
    rows = inside(process.rows("machine"), steps)
    known = [row for row in rows if row["rss_bytes"] is not None]
    if not known:
        return None
    rss = growth(own_points(known), steps)
    limit, used = memory_limit(process)
    return MemoryUse(
        rss_bytes=known[-1]["rss_bytes"],
        rss=rss,
        python_blocks=growth(points_of(rows, "python_blocks"), steps),
        asked=growth(points_of(rows, "data_bytes"), steps),
        limit_bytes=limit,
        used_bytes=used,
        exhausted_in_s=time_left_s(rss.per_s, limit, used) if rss and _matters(rss) else None,
        objects=_objects(_counted(process, steps, begun_s), steps),
        device_bytes={
            r["device"]: r["peak_bytes"] or r["bytes"] for r in process.rows("device_memory")
        },
    )


def own_points(rows: list[Row]) -> list[Point]:
    """Return time and memory in use of readings; files that were mapped are not counted.

    Python reads a mapped array page by page: that looks like growth, and is none.
    """
    return [
        (row["at_s"], float(row["rss_bytes"] - (row.get("file_bytes") or 0)))
        for row in rows
        if row["rss_bytes"] is not None
    ]


def growing_lines(
    process: ProcessRecording,
    steps: Steps,
    location: Callable[[str | None, int | None], Location | None],
) -> list[GrowingLine]:
    """Return the user's lines that hold more and more memory, the fastest first.

    Only a run with `--memory` has them.
    """
    series: dict[tuple[str, int], list[Row]] = {}
    for row in inside(process.rows("allocations"), steps):
        series.setdefault((row["file"], row["line"]), []).append(row)
    found = []
    for (file, line), rows in series.items():
        grown = growth(points_of(rows, "bytes"), steps)
        where = location(file, line)
        if where is None or grown is None or not grown.is_steady:
            continue
        per_step = grown.per_step or 0.0
        if grown.total >= MIN_LINE_GROWTH_BYTES and per_step >= MIN_LINE_BYTES_PER_STEP:
            blocks = growth(points_of(rows, "blocks"), steps)
            found.append(GrowingLine(where, grown, blocks.per_step if blocks else None))
    return sorted(found, key=lambda line: -line.growth.per_s)


def _counted(process: ProcessRecording, steps: Steps, begun_s: float | None) -> list[Row]:
    """Return the counts of objects from the first steps on, before which they say nothing."""
    begin_s = steps.begin_s if begun_s is None else min(begun_s, steps.begin_s)
    return [r for r in process.rows("objects") if begin_s <= r["at_s"] <= steps.end_s + 1.0]


def _objects(rows: list[Row], steps: Steps) -> dict[str, Growth]:
    """Return how many more objects of each kind are alive; counts are rare, so two will do."""
    series: dict[str, list[Row]] = {}
    for row in rows:
        series.setdefault(row["kind"], []).append(row)
    found = {}
    for kind, of_kind in series.items():
        points = points_of(of_kind, "alive")
        grown = growth(points, steps) or _between(points[0], points[-1], steps)
        if grown is not None:
            found[kind] = grown
    return found


def _between(first: Point, last: Point, steps: Steps) -> Growth | None:
    window_s, total = last[0] - first[0], last[1] - first[1]
    if window_s <= 0:
        return None
    done = steps_done((first, last), steps)
    taken = done[1] - done[0]
    per_step = total / taken if taken else None
    is_steady = total >= MIN_OBJECTS_GROWTH
    return Growth(first[1], last[1], window_s, total / window_s, per_step, is_steady)


def memory_limit(process: ProcessRecording) -> tuple[int | None, int | None]:
    """Return the container's limit and use; without one, the machine's memory and our own."""
    known = [row for row in process.rows("machine") if row["rss_bytes"] is not None]
    if not known:
        return None, None
    last = known[-1]
    limit, machine = (process.facts.get(n) for n in ("memory_limit_bytes", "memory_bytes"))
    is_limited = isinstance(limit, int) and isinstance(machine, int) and 0 < limit < machine
    if is_limited:
        return limit, last.get("cgroup_bytes") or last["rss_bytes"]
    return (machine, last["rss_bytes"]) if isinstance(machine, int) else (None, None)


def _matters(rss: Growth | None) -> bool:
    if rss is None or not rss.is_steady:
        return False
    return rss.total >= MIN_RSS_GROWTH_BYTES and rss.per_s >= MIN_RSS_BYTES_PER_S


def time_left_s(per_s: float, limit: int | None, used: int | None) -> float | None:
    """Return the time until a limit is reached at a rate; None where it is not known."""
    if limit is None or used is None or per_s <= 0:
        return None
    return max(limit - used, 0) / per_s


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
