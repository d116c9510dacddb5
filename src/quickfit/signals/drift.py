"""Whether steps get slower while a training runs, and which of their parts grows.

What to ask, from a cause:

    drift = signals.drift                  # SignalMissing where there were too few steps
    signals.slowdown                       # Slowdown or None: steps (or epochs) got slower, and why
    grown = drift.component("open_files")  # Component; SignalMissing where nobody recorded it
    grown.first, grown.last                # levels of the first and last part of the run
    grown.grows                            # steadily, by a fifth or more: confirmed by two looks
    grown.certain_at                       # the step at which that was certain, or None

Components in seconds per step: `step` (wall), `cpu` (main thread), `callbacks`, `callbacks_cpu`,
`call`, `wait` (for input), `between` (code between the calls), `input` and `input_cpu` (a Python
input), `stage_work` (of tf.data), `delay` (the main thread without a core), `rest_cpu` (other
threads), `collecting` (garbage collector). Others: `traces` (per step), `open_files`, `others`
(cores that other programs use), `throttled` (share), `batch_bytes`, `stages` (operations behind
each new iterator).

Every answer is one of the recording alone. It is made from the data up to looks whose distance
grows with the run, and stands when two looks in a row say the same; so it may be asked again and
again while a run goes on.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from quickfit.errors import SignalMissing
from quickfit.measuring.trend import (
    MEAN,
    MEDIAN,
    MIN_POINTS,
    Middle,
    Point,
    Trend,
    blocks_of,
    looks,
    merged,
    trend,
    until,
)
from quickfit.signals.drift_claim import (
    INPUTS,
    MIN_GROWTH,
    MIN_PART_Z,
    MIN_SHARE,
    Claim,
    Witnesses,
    claimed,
)
from quickfit.signals.drift_progress import Series

# Fewer looks confirm nothing.
CONFIRMED = 2
# A series that is missing for more of the begin or the end is not compared with the step.
MAX_UNCOVERED = 0.25
# More cores in use by others than in the calm times of a run, as a share of all.
BUSY_SHARE = 0.2
# What must be left without the times of load: of the steps, and of the run from first to last.
MIN_CALM, MIN_CALM_SPAN = 0.3, 0.5
# Of a step, waiting for a core: from here on a step is looked at without; and never more than so
# much, by readings that lie beside the step.
MIN_DELAY, MOST_DELAY = 0.25, 0.98
# Series that are parts of the step's wall time on its own thread.
WALL_TIMES = ("step", "callbacks", "call", "between")
# What is told of a slower step whose cause is not known.
MEASURED = (
    *("callbacks", "wait", "call", "between", "input", "stage_work", "cpu", "rest_cpu", "delay"),
    *("collecting", "others", "throttled", "batch_bytes", "stages", "after", "start", "steps"),
    *("validation", "callbacks_cpu", "input_cpu", "after_cpu", "clock", "main_cpu"),
)


@dataclass(frozen=True)
class Component:
    """One quantity over the run: its level at first and at the end, and whether it grows."""

    name: str
    first: float
    last: float
    z: float
    grows: bool
    certain_at: int | None = None

    @property
    def growth(self) -> float:
        """How much more it is at the end."""
        return self.last - self.first


@dataclass(frozen=True)
class Slowdown:
    """Steps, or whole epochs, that take longer and longer, and what explains it.

    Args:
        unit: `step` or `epoch`.
        first_s: what one took at first.
        last_s: what one took at the end.
        mean_s: what one took on average.
        why: `part`, `data` (larger batches), `machine` (its load grew) or `unknown`.
        part: the component that grows, for `part`.
        share: how much of the growth it explains.
        sleeps: whether it grows without using the CPU.
        certain_at: the step (or epoch) at which this was certain.
        is_calm: the times are those of a free machine: waiting for a core is left out.
        measured: the components, for whoever wants to know what was looked at.
    """

    unit: str
    first_s: float
    last_s: float
    mean_s: float
    why: str
    part: str
    share: float
    sleeps: bool
    certain_at: int
    measured: tuple[Component, ...] = ()
    is_calm: bool = False


class Drift:
    """The series of a run, and what two looks in a row say about them."""

    def __init__(self, series: Series, cores: float, parts: Witnesses, unit: str = "step") -> None:
        self.series = series
        self.cores = cores
        self.parts = parts
        self.unit = unit
        points = series.get("step", [])
        self.total = int(points[-1][0]) if points else 0

    def component(self, name: str) -> Component:
        """Return how a quantity went over the run.

        Raises:
            SignalMissing: it was not recorded, or too rarely.
        """
        went = self._trend(name, self.total, MEDIAN)
        if went is None:
            raise SignalMissing(f"enough readings of `{name}` over the run")
        certain_at = self._certain(lambda look: self._grows(name, look))
        return Component(name, went.first, went.last, went.z, certain_at is not None, certain_at)

    @cached_property
    def slowdown(self) -> Slowdown | None:
        """Whether it got slower, and why: a part that grows is preferred to no explanation."""
        # The median does not see work that is done every tenth step only; the mean does.
        found = [self._slowdown(middle) for middle in (MEDIAN, MEAN)]
        known = [one for one in found if one is not None]
        return min(known, key=lambda one: _ORDER.index(one.why), default=None)

    def _slowdown(self, middle: Middle) -> Slowdown | None:
        now = self._claim(self.total, middle)
        if now is None:
            return None
        if now.why != "part":
            now = self._certain_before(now, middle) or now
        claim = now
        certain_at = self._certain(lambda look: _same(self._claim(look, middle), claim))
        if certain_at is None and claim.why == "part":
            certain_at = self._last_certain(claim, middle)
        if certain_at is None:
            # It is slower, but not always for the same reason: then none is told.
            why = "machine" if now.why == "machine" else "unknown"
            now = dataclasses.replace(now, why=why, part="", share=0.0)
            certain_at = self._certain(lambda look: self._claim(look, middle) is not None)
        if certain_at is None:
            return None
        series: Seen = self._merged[middle]
        if now.is_calm:
            series = without_delay(series) or series
        levels = [value for _, value in blocks_of(series["step"], middle)]
        return Slowdown(
            self.unit,
            now.first_s,
            now.last_s,
            statistics.fmean(levels),
            now.why,
            now.part,
            now.share,
            now.sleeps,
            certain_at,
            _measured(series, middle),
            now.is_calm,
        )

    def _last_certain(self, claim: Claim, middle: Middle) -> int | None:
        """Return the last look that confirmed a claim, and was confirmed by the one before it."""
        seen = looks(self.total) if self.unit == "step" else looks(self.total, MIN_POINTS)
        for before, look in reversed(list(itertools.pairwise(seen))):
            if all(_same(self._claim(each, middle), claim) for each in (before, look)):
                return look
        return None

    def _certain_before(self, now: Claim, middle: Middle) -> Claim | None:
        """Return a claim that was certain and still holds: its part goes on growing as it did.

        At the end something else may have grown beside it, such as the machine's load.
        """
        step = self._trend("step", self.total, middle)
        for name in (*self.parts, *INPUTS):
            part = self._trend(name, self.total, middle)
            if step is None or part is None or part.z < MIN_PART_Z or not part.is_steady:
                continue
            share = min(part.growth / step.growth, 1.0) if step.growth > 0 else 0.0
            claim = dataclasses.replace(now, why="part", part=name, share=share)
            if share >= MIN_SHARE and self._last_certain(claim, middle) is not None:
                return claim
        return None

    def _certain(self, holds: Callable[[int], bool]) -> int | None:
        """Return the look that confirmed what holds at the last two; None where it does not."""
        seen = looks(self.total) if self.unit == "step" else looks(self.total, MIN_POINTS)
        first = len(seen)
        while first > 0 and holds(seen[first - 1]):
            first -= 1
        return seen[first + CONFIRMED - 1] if len(seen) - first >= CONFIRMED else None

    def _grows(self, name: str, look: int) -> bool:
        went = self._trend(name, look, MEDIAN)
        if went is None or went.z < MIN_PART_Z or not went.is_steady:
            return False
        return went.growth >= MIN_GROWTH * max(went.first, 0.0)

    def _claim(self, look: int, middle: Middle) -> Claim | None:
        series = self._merged[middle]
        seen = {name: until(points, look) for name, points in series.items()}
        claim = self._judged(seen, middle)
        if claim is not None and claim.why == "part":
            return claim
        for calm, is_calm in ((without_load(seen, self.cores), False), (without_delay(seen), True)):
            other = self._judged(calm, middle) if calm is not None else None
            if other is not None and other.why == "part":
                return dataclasses.replace(other, is_calm=is_calm)
        return claim

    def _judged(self, seen: Seen, middle: Middle) -> Claim | None:
        step = trend(seen["step"], middle) if "step" in seen else None
        if step is None or step.growth < MIN_GROWTH * step.first:
            return None  # most runs end here, at the cost of one trend
        known = {name: points for name, points in seen.items() if covers(points, seen["step"])}
        found = {name: trend(points, middle) for name, points in known.items()}
        trends = {name: went for name, went in found.items() if went is not None}
        return claimed(trends, self.cores, self.parts) if "step" in trends else None

    def _trend(self, name: str, look: int, middle: Middle) -> Trend | None:
        return trend(until(self._merged[middle].get(name, []), look), middle)

    @cached_property
    def _merged(self) -> dict[Middle, Seen]:
        return {
            middle: {name: merged(points, middle) for name, points in self.series.items()}
            for middle in (MEDIAN, MEAN)
        }


Seen = Mapping[str, Sequence[Point]]


def _measured(series: Seen, middle: Middle) -> tuple[Component, ...]:
    found = []
    for name in MEASURED:
        went = trend(series.get(name, []), middle)
        if went is not None:
            grows = went.z >= MIN_PART_Z and went.is_steady
            found.append(Component(name, went.first, went.last, went.z, grows))
    return tuple(found)


def covers(points: Sequence[Point], step: Sequence[Point]) -> bool:
    """Tell whether a series was recorded from the first part of the run to the last."""
    if not points or not step:
        return False
    reach = MAX_UNCOVERED * (step[-1][0] - step[0][0])
    return points[0][0] <= step[0][0] + reach and points[-1][0] >= step[-1][0] - reach


def without_load(seen: Seen, cores: float) -> Seen | None:
    """Return the series without the times when other programs used more cores than usual.

    A part that grows while the machine is calm grows. None where it always was, or hardly ever.
    """
    others = seen.get("others", ())
    values = sorted(value for _, value in others)
    if not values:
        return None
    most = values[len(values) // 4] + BUSY_SHARE * cores
    ends = [place for place, _ in others]
    busy = [value > most for _, value in others]
    if not any(busy):
        return None

    def is_calm(point: Point) -> bool:
        # A reading tells of the steps since the one before.
        return not busy[min(bisect.bisect_left(ends, point[0]), len(busy) - 1)]

    calm = {name: [point for point in points if is_calm(point)] for name, points in seen.items()}
    step, left = seen["step"], calm["step"]
    if len(left) < MIN_CALM * len(step):
        return None
    span, whole = left[-1][0] - left[0][0], step[-1][0] - step[0][0]
    return calm if span >= MIN_CALM_SPAN * whole else None


def without_delay(seen: Seen) -> Seen | None:
    """Return the series without the time for which the main thread was ready but had no core.

    Beside other programs a step takes several times as long, now more and now less, and what grows
    in it cannot be seen. None where that was known too seldom, or next to nothing.
    """
    delays, step = seen.get("delay", ()), seen.get("step", ())
    if not covers(delays, step) or len(delays) < MIN_CALM * len(step):
        return None
    places = [place for place, _ in delays]

    def delay_at(place: float) -> float:
        return delays[min(bisect.bisect_left(places, place), len(delays) - 1)][1]

    # A thread that waits for a core does so in all parts of a step alike.
    left = {
        place: 1 - min(delay_at(place) / value, MOST_DELAY) for place, value in step if value > 0
    }
    if not left or statistics.median(left.values()) > 1 - MIN_DELAY:
        return None
    calm = {
        name: [(place, value * left[place]) for place, value in points if place in left]
        if name in WALL_TIMES
        else points
        for name, points in seen.items()
        if name != "delay"
    }
    return calm if len(calm["step"]) >= MIN_POINTS else None


_ORDER = ("part", "data", "machine", "unknown")


def _same(one: Claim | None, other: Claim) -> bool:
    return one is not None and (one.why, _measured_as(one)) == (other.why, _measured_as(other))


def _measured_as(claim: Claim) -> str:
    """Return the part that is meant: a Python input and the stage that runs it are the same."""
    return "input" if claim.part == "stage_work" else claim.part


def better_explained(steps: Slowdown | None, epochs: Slowdown | None) -> Slowdown | None:
    """Return which of two says more: a part that grows is more than none, and steps than epochs."""
    known = [one for one in (steps, epochs) if one is not None]
    return min(known, key=lambda one: _ORDER.index(one.why), default=None)
