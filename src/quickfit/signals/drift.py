"""Whether steps get slower while a training runs, which part grows, and what explains it."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from quickfit.errors import SignalMissing
from quickfit.lab.statistics import (
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
from quickfit.signals.drift_series import Series

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


# The step must grow by this much to be called slower.
MIN_GROWTH = 0.20
# What a part must explain of that.
MIN_SHARE = 0.5
# A second of CPU time that takes longer than this beside others says nothing any more.
MAX_STRETCH = 8.0
# By ranks: of a part that is accused; of what backs it; of a step of which no part is accused.
MIN_PART_Z, MIN_WITNESS_Z, MIN_STEP_Z = 3.0, 1.5, 4.0
# A step with an accused part may go up and down with the machine's load as well.
MIN_ACCUSED_STEP_Z = 0.5
# Neighbours slow a core down, too: the same work takes up to so many times the CPU time.
INFLATION = 1.7
# More cores in use by others, as a share of all, or more waiting for a core: the load grew.
MIN_MORE_OTHERS, MIN_MORE_DELAY, MIN_MORE_THROTTLED = 0.12, 0.15, 0.05
MIN_MORE_STRETCH = 1.3
# A rest this small, or one that grew less, says nothing about what the parts have in common.
MIN_REST, MIN_REST_GROWTH = 0.1, 1.2
# A part that is accused grows by this many times the factor of the rest.
MIN_BEYOND = 1.3
# And where the size of batches is not known, by this many times what they may have done to it.
MUCH_BEYOND = 1.5
# From here batches are larger; time per byte must grow as much as a step before it is slower.
MIN_LARGER = 1.15
# Work on longer sequences grows with their square at most.
POWER = 2.0

Witnesses = dict[str, tuple[str, ...]]

# Parts of the step, and the CPU times that back them, the best first.
PARTS: Witnesses = {
    "callbacks": ("callbacks_cpu", "cpu", "rest_cpu"),
    "between": ("cpu", "main_cpu", "rest_cpu"),
}
# In a loop that runs eagerly, the calls are Python of the script's, too. The CPU time of a short
# loop's steps is known by readings of its thread only (`main_cpu`).
HOST_PARTS: Witnesses = {**PARTS, "call": ("cpu", "main_cpu")}
# Parts of an epoch: what lies after its steps, and what its first step takes longer.
EPOCH_PARTS: Witnesses = {"after": ("after_cpu", "after_rest_cpu"), "start": ("start_cpu",)}
# Costs of the input, which steps feel as far as they wait for it or share the cores with it.
INPUTS: Witnesses = {
    "input": ("input_cpu",),
    "stage_work": ("rest_cpu",),
    "stages": ("rest_cpu", "after_cpu"),
}
# Parts whose CPU time alone may decide, on a machine whose load says nothing; the best first.
BY_CPU = {"callbacks": ("callbacks_cpu",), "between": ("cpu", "main_cpu")}
# Then it must grow nearly always, and by more than any neighbour can make it.
MIN_CPU_Z, MOST_INFLATION = 4.0, 2.0
# From this share of the cores in use by others, the threads of a step wait for each other.
MIN_BUSY = 0.25
# A step whose CPU time grows by less than this share of its growth does the same work as before.
MIN_WORK_SHARE = 0.2
# Parts that no input accounts for. What follows an epoch also makes the next iterator.
_OWN = ("callbacks", "between")


@dataclass(frozen=True)
class Claim:
    """What explains a slower step.

    Args:
        why: `part`, `data` (the batches got larger), `machine` (its load grew) or `unknown`.
        part: the name of the series that grows; empty for the others.
        share: how much of the growth it explains.
        sleeps: whether it grows without using the CPU.
        first_s: what a step took at first, of the time that was looked at.
        last_s: what it took at the end.
        is_calm: waiting for a core is left out of all times.
    """

    why: str
    part: str = ""
    share: float = 0.0
    sleeps: bool = False
    first_s: float = 0.0
    last_s: float = 0.0
    is_calm: bool = False


Trends = Mapping[str, Trend]


def claimed(trends: Trends, cores: float, parts: Witnesses = PARTS) -> Claim | None:
    """Return what explains that a step takes longer at the end; None where it does not.

    Args:
        trends: of the step and of its parts, by name.
        cores: of the machine.
        parts: those that may be accused, besides the input, and the CPU times that back them.
    """
    step = trends.get("step")
    if step is None or step.growth < MIN_GROWTH * step.first or step.z < MIN_ACCUSED_STEP_Z:
        return None
    claim = _explained(trends, step, cores, parts)
    return claim and dataclasses.replace(claim, first_s=step.first, last_s=step.last)


def _explained(trends: Trends, step: Trend, cores: float, parts: Witnesses) -> Claim | None:
    if _explains(trends.get("collecting"), step):
        return Claim("part", "collecting", trends["collecting"].growth / step.growth)
    is_loaded = load_grew(trends, cores)
    accused = [
        _accused(name, witnesses, trends, is_loaded=is_loaded)
        for name, witnesses in (parts | INPUTS).items()
    ]
    claims = [claim for claim in accused if claim is not None]
    claims = claims or [claim for name in parts if (claim := _by_cpu_time(name, trends, cores))]
    if claims:
        return max(claims, key=lambda claim: (claim.part == "stages", claim.share))
    size = trends.get("batch_bytes")
    if size is not None and size.ratio >= MIN_LARGER and step.ratio < 1.2 * size.ratio**POWER:
        return Claim("data")
    if is_loaded or _only_waits_for_cores(trends, step, cores):
        return Claim("machine")
    return Claim("unknown") if step.z >= MIN_STEP_Z else None


def _only_waits_for_cores(trends: Trends, step: Trend, cores: float) -> bool:
    """Tell whether a step does the same work, on a machine that others keep busy all the time.

    Others that use all cores cannot use more of them: one more program shows in nothing else.
    """
    others = trends.get("others")
    if others is None or min(others.first, others.last) < MIN_BUSY * cores:
        return False
    work = [trends[name] for name in ("main_cpu", "rest_cpu") if name in trends]
    grown_s = sum(max(trend.growth, 0.0) for trend in work)
    return len(work) == 2 and grown_s < MIN_WORK_SHARE * step.growth


def load_grew(trends: Trends, cores: float) -> bool:
    """Tell whether the machine had more to do for others, or less to give, at the end."""
    step = trends["step"]
    limits = {"others": MIN_MORE_OTHERS * cores, "throttled": MIN_MORE_THROTTLED}
    if any(name in trends and trends[name].growth > most for name, most in limits.items()):
        return True
    # Who has more to do stands in line for longer, on a machine that is as busy as before.
    first, last = _stretches(trends)
    is_later = "delay" in trends and trends["delay"].growth > MIN_MORE_DELAY * step.growth
    return is_later and ("main_cpu" not in trends or last > MIN_MORE_STRETCH * first)


def _explains(part: Trend | None, step: Trend) -> bool:
    return part is not None and part.z >= MIN_PART_Z and part.growth >= MIN_SHARE * step.growth


def _accused(
    name: str, witnesses: tuple[str, ...], trends: Trends, *, is_loaded: bool
) -> Claim | None:
    """Return the claim that a part explains the growth, if all of it holds."""
    part, step = trends.get(name), trends["step"]
    # Wall time goes up and down with the machine's load; then CPU time shows what goes on.
    backing = [trends[each] for each in (name, *witnesses) if each in trends]
    if part is None or not any(each.z >= MIN_PART_Z and each.is_steady for each in backing):
        return None
    grown_s = _grown_s(name, part, trends)
    cpu_s = _witness_s(witnesses, trends, INFLATION if is_loaded else 1.0)
    # Other threads of the process stand in line as the main one does.
    # That there are more stages is certain; what they cost need only be enough to be felt.
    needed_s = MIN_GROWTH * step.first if name == "stages" else MIN_SHARE * grown_s
    sleeps = cpu_s * min(_stretches(trends)) < needed_s
    if sleeps and (is_loaded or "delay" not in trends):
        return None
    share = min(grown_s / step.growth, 1.0)
    if share < MIN_SHARE or not _is_beyond_rest(name, part, trends):
        return None
    return Claim("part", name, share, sleeps)


def _by_cpu_time(name: str, trends: Trends, cores: float) -> Claim | None:
    """Return the claim that a part explains the growth which is left without the load.

    On a machine that is full, wall time goes anywhere. CPU time does not: work that needs several
    times as much of it as at first, and more than neighbours can add to it, has grown.
    """
    step, part = trends["step"], trends.get(name)
    cpu = next((trends[each] for each in BY_CPU.get(name, ()) if each in trends), None)
    if part is None or cpu is None or cpu.z < MIN_CPU_Z or not cpu.is_steady or _is_larger(trends):
        return None
    grown_s = cpu.last - MOST_INFLATION * cpu.first
    felt_s = min(part.growth, step.growth)
    if grown_s < MIN_GROWTH * step.first or felt_s < MIN_SHARE * grown_s:
        return None
    whole = trends.get("cpu", cpu)
    rest_first, rest_last = whole.first - cpu.first, whole.last - cpu.last
    if rest_last - rest_first > grown_s or rest_last * cpu.first > rest_first * cpu.last:
        return None  # other Python of the main thread grows more, or as much
    if "batch_bytes" not in trends and not _is_beyond_rest(name, part, trends):
        return None  # sizes are not known, and everything grows
    waiting_s = _waiting_s(trends, cores, max(part.growth - grown_s, 0.0))
    share = grown_s / max(step.growth - waiting_s, grown_s)
    return Claim("part", name, share) if share >= MIN_SHARE else None


def _waiting_s(trends: Trends, cores: float, delayed_s: float) -> float:
    """Return what a step waits longer for a core: its main thread, and beside others its call.

    What the call itself needs has not grown, or the CPU time of its threads would have.

    Args:
        trends: of the step and of its parts.
        cores: of the machine.
        delayed_s: by how much more the part that is looked at grew than its CPU time.
    """
    grown = {n: max(trends[n].growth, 0.0) for n in ("delay", "call", "rest_cpu") if n in trends}
    others = trends.get("others")
    is_busy = others is not None and max(others.first, others.last) >= MIN_BUSY * cores
    if not is_busy or grown.get("rest_cpu", 0.0) > MIN_SHARE * grown.get("call", 0.0):
        return grown.get("delay", 0.0)
    return grown.get("call", 0.0) + min(delayed_s, grown.get("delay", 0.0))


def _is_larger(trends: Trends) -> bool:
    size = trends.get("batch_bytes")
    return size is not None and size.ratio >= MIN_LARGER


def _grown_s(name: str, part: Trend, trends: Trends) -> float:
    """Return how much of the step's growth a part may account for."""
    step, size = trends["step"], trends.get("batch_bytes")
    larger = size.ratio**POWER if size is not None and _is_larger(trends) else 1.0
    grown_s = part.last - larger * part.first
    if name not in INPUTS:
        return min(grown_s, step.growth)
    own = (*_OWN, "delay") if name == "stages" else _OWN
    left_s = step.growth - sum(max(trends[n].growth, 0.0) for n in own if n in trends)
    # The number of stages is no time: the steps say what they cost.
    return left_s if name == "stages" and part.ratio >= MIN_LARGER else min(grown_s, left_s)


def _witness_s(names: tuple[str, ...], trends: Trends, inflation: float) -> float:
    """Return how much the CPU time behind a part grew, beyond what neighbours do to it."""
    known = [trends[n] for n in names if n in trends and trends[n].z >= MIN_WITNESS_Z]
    return max((cpu.last - inflation * cpu.first for cpu in known), default=0.0)


def _stretches(trends: Trends) -> tuple[float, float]:
    """Return how long the main thread took for a second of CPU time, at first and at the end.

    On a busy machine it stands in line for a core, and the longer the more it has to do.
    """
    delay, cpu = trends.get("delay"), trends.get("main_cpu")
    if delay is None or cpu is None or min(cpu.first, cpu.last) <= 0:
        return 1.0, 1.0
    first, last = delay.first / cpu.first, delay.last / cpu.last
    return min(1 + max(first, 0.0), MAX_STRETCH), min(1 + max(last, 0.0), MAX_STRETCH)


def _is_beyond_rest(name: str, part: Trend, trends: Trends) -> bool:
    """Tell whether a part grows by more than what the rest of the step has in common with it.

    Larger batches and a slower machine make everything longer.
    """
    step = trends["step"]
    if name in INPUTS and "batch_bytes" in trends:
        # A step that waits for Python's lock, which a generator holds, looks like a longer step;
        # what slower cores do to the input they do to the main thread as well.
        return "cpu" not in trends or part.ratio >= MIN_BEYOND * trends["cpu"].ratio
    # Of the input's cost, the step has the wait in it.
    inside = trends.get("wait") if name in INPUTS else part
    if inside is None:
        return True
    waited_s = max(trends["delay"].growth, 0.0) if "delay" in trends else 0.0
    first_s, last_s = step.first - inside.first, step.last - inside.last - waited_s
    if first_s < MIN_REST * step.first or last_s < MIN_REST_GROWTH * first_s:
        return True
    rests = [trends[each] for each in ("call", "wait") if each in trends and each != name]
    if rests and all(each.z < MIN_PART_Z for each in rests):
        return True  # that the rest is longer at the end is chance: larger batches go on growing
    rest = last_s / first_s
    # The size of batches that is known has been taken into account; the speed of the cores not.
    if "batch_bytes" in trends:
        return part.ratio >= MIN_BEYOND * rest
    # Where it is not known, larger batches may have made all of the rest's growth.
    grown_s = part.last - MUCH_BEYOND * rest**POWER * part.first
    return bool(grown_s >= MIN_SHARE * step.growth)
