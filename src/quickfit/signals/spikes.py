"""Sporadic slow steps: which they are, how much of the time they take, how regular they are.

What they coincide with is told by `spike_reasons`.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Location
from quickfit.recording.thinning import seconds_of
from quickfit.signals.steps import Step, Steps

# A spike takes this many times the median step, and lies as many spreads away from it: where
# steps differ a lot by nature, a long one is nothing special.
FACTOR, SPREADS = 5.0, 10.0
# Fewer slow steps are an accident, not something that happens again and again.
MIN_SPIKES = 3
# So many steps before and after one are near it, and fewer are too few for a median.
NEARBY, MIN_NEARBY = 25, 5
# What every fifth step does is a part of the step, and no spike.
MAX_STEPS_SHARE = 0.2
# So many of the distances between spikes are the same where they are regular.
MIN_REGULAR = 0.6
# What explains slow steps has this share of their extra time, and of their number.
MIN_EXPLAINED = 0.5


@dataclass(frozen=True)
class Spike:
    """One slow step.

    Args:
        number: counted from the first step after warm-up, over all calls of `fit`.
        extra_s: what it took longer than the median step.
        part: where that time went by the clock: `callbacks`, `wait`, `call`, `between`; empty
            where the parts of this step were not timed.
    """

    number: int
    begin_s: float
    end_s: float
    extra_s: float
    part: str = ""


@dataclass(frozen=True)
class Spikes:
    """The slow steps of a loop.

    Args:
        spikes: those of the steps that are kept in full, in order.
        count: all of them, also those of long ago that are only counted.
        steps: how many steps they were found among.
        median_s: the median step.
        extra_s: what all of them took longer than that.
        share: of the whole time.
        every: the distance in steps, where it is mostly the same.
    """

    spikes: tuple[Spike, ...]
    count: int
    steps: int
    median_s: float
    extra_s: float
    share: float
    every: int | None = None

    @property
    def factor(self) -> float:
        """How many times the median step they take, on average."""
        return 1 + self.extra_s / self.count / self.median_s

    @property
    def is_timed(self) -> bool:
        """Whether the parts of enough of them were timed, to speak for all."""
        return sum(spike.part != "" for spike in self.spikes) >= MIN_SPIKES

    def part_share(self, part: str) -> float:
        """Return the share of their extra time that lies in a part of the step, by the clock."""
        if not self.is_timed:
            return 0.0
        known_s = sum(spike.extra_s for spike in self.spikes if spike.part)
        inside_s = sum(spike.extra_s for spike in self.spikes if spike.part == part)
        return inside_s / known_s if known_s else 0.0


@dataclass(frozen=True)
class Reason:
    """What the slow steps coincide with.

    Args:
        kind: `save`, `look`, `collect`, `retrace`, `compile`, `input`, `shuffle`, `cache`,
            `callback`, `line`, `other` (code), `neighbours`, `limit` or `disk`.
        hits: slow steps that it coincides with, of those that could be looked at (`measured`).
        explained: the share of their time that it explains.
        how: how that was measured.
        events: how often it happened in all; None where it cannot be counted.
        name: of the function, the callback or the stage, where it has one.
        where: the user's line.
        part: of the breakdown that its time lies in.
        sampled: of the samples in slow steps that are in it, where the clock told it first.
        samples: how many there are.
    """

    kind: str
    hits: int
    measured: int
    explained: float
    how: str
    events: int | None = None
    name: str = ""
    where: Location | None = None
    part: str = "step"
    sampled: float | None = None
    samples: float = 0.0


def spikes_of(
    steps: Steps, whole_s: float, blocks: list[dict[str, Any]] | None = None
) -> Spikes | None:
    """Return the slow steps of a loop; None where there are too few, or too many, to be spikes.

    Args:
        steps: the steps after warm-up.
        whole_s: the time of training that these steps are a part of.
        blocks: older steps of the loop, thinned.
    """
    median_s = steps.median_s
    limit_s = max(FACTOR * median_s, median_s + SPREADS * steps.spread_s)
    parts = _Parts(steps)
    # Between epochs lies much that is counted apart, and the first step has some of it.
    found = tuple(
        parts.spike(number, step, step.cycle_s - median_s)
        for number, step in enumerate(steps.steps, start=1)
        if step.cycle_s >= limit_s
        and not step.is_first_of_epoch
        and step.cycle_s >= FACTOR * _nearby_s(steps, number)
    )
    old_count, old_steps, old_extra_s, old_s = _old(blocks or [], median_s, limit_s)
    count, total = len(found) + old_count, len(steps.steps) + old_steps
    if len(found) < MIN_SPIKES or count > MAX_STEPS_SHARE * total or not whole_s:
        return None
    extra_s = sum(spike.extra_s for spike in found) + old_extra_s
    share = min(extra_s / (whole_s + old_s), 1.0)
    return Spikes(found, count, total, median_s, extra_s, share, _every(found))


def _nearby_s(steps: Steps, number: int) -> float:
    """Return the median of the steps before or after one, whichever is longer.

    In a run that slows down all steps are long later on.
    """
    before = steps.steps[max(number - 1 - NEARBY, 0) : number - 1]
    after = steps.steps[number : number + NEARBY]
    sides = [side for side in (before, after) if len(side) >= MIN_NEARBY]
    return max((statistics.median(s.cycle_s for s in side) for side in sides), default=0.0)


class _Parts:
    """What the parts of a step usually take."""

    def __init__(self, steps: Steps) -> None:
        self._usual = {name: _median(steps, name) for name in ("call_s", "callbacks_s", "wait_s")}
        self._between_s = statistics.median(
            [_between_s(step) for step in steps.steps if step.call_s is not None] or [0.0]
        )

    def spike(self, number: int, step: Step, extra_s: float) -> Spike:
        """Return a slow step with the part of it that was longer than usual."""
        extra = {name[:-2]: self._extra_s(step, name) for name in self._usual}
        if step.call_s is not None:
            extra["between"] = _between_s(step) - self._between_s
        part, longest_s = max(extra.items(), key=lambda item: item[1])
        known = part if longest_s >= MIN_EXPLAINED * extra_s else ""
        begin_s = step.end_s - step.cycle_s
        return Spike(number, begin_s, step.end_s, extra_s, known)

    def _extra_s(self, step: Step, name: str) -> float:
        took = getattr(step, name)
        return float(took) - self._usual[name] if took is not None else 0.0


def _median(steps: Steps, name: str) -> float:
    # A step that was timed and has no such part did without.
    watched = [step for step in steps.steps if step.call_s is not None]
    return statistics.median([getattr(step, name) or 0.0 for step in watched] or [0.0])


def _between_s(step: Step) -> float:
    known_s = (step.call_s or 0.0) + (step.callbacks_s or 0.0) + (step.wait_s or 0.0)
    return max(step.cycle_s - known_s, 0.0)


def _old(
    blocks: list[dict[str, Any]], median_s: float, limit_s: float
) -> tuple[int, int, float, float]:
    """Return spikes, steps, extra seconds and all seconds of thinned steps."""
    count = steps = 0
    extra_s = total_s = 0.0
    for block in blocks:
        steps += block["steps"]
        total_s += max(block["end_s"] - block["begin_s"], 0.0)
        for index, seen in block["histogram"].items():
            took_s = seconds_of(int(index))
            if took_s >= limit_s:
                count += seen
                extra_s += seen * (took_s - median_s)
    return count, steps, min(extra_s, total_s), total_s


def _every(spikes: tuple[Spike, ...]) -> int | None:
    """Return the distance between spikes, where most of them have the same."""
    pairs = itertools.pairwise(spikes)
    distances = Counter(after.number - before.number for before, after in pairs)
    distance, seen = distances.most_common(1)[0]
    return distance if seen >= MIN_REGULAR * distances.total() and distance > 1 else None
