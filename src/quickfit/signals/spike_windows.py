"""Windows of time with and without slow steps: does something happen in the one and not the other.

Counters and stacks are recorded twice a second, steps one by one. How much of a quantity belongs
to a second of slow steps, and how much to any other second, is what fits all windows best.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from quickfit.signals.spikes import Spike

# Windows that were merged, in a long run, say nothing about a single step.
MAX_WINDOW_S = 5.0
# A window with less of slow steps than this is one without.
CLEAN = 0.02
# With fewer of those there is nothing to compare with.
MIN_CLEAN = 3
# The two kinds of seconds must differ between windows, to be told apart.
MIN_DIFFERENCE = 1e-3
# A coincidence is none of chance below this.
MAX_CHANCE = 0.01


@dataclass(frozen=True)
class Coincidence:
    """How often something happened with a slow step and without one.

    Args:
        hits: slow steps during which it happened.
        spikes: slow steps that could be looked at.
        others: windows without a slow step in which it happened as well.
        windows: windows without a slow step.
        reach: windows that a slow step lies in, on average.
        hit_share: of the slow steps' extra time, that of those during which it happened.
    """

    hits: int
    spikes: int
    others: int
    windows: int
    reach: float = 1.0
    hit_share: float = 0.0

    @property
    def is_told_apart(self) -> bool:
        """Whether there was enough time without slow steps to compare with."""
        return self.windows >= MIN_CLEAN

    @property
    def is_by_chance(self) -> bool:
        """Whether it happens as often without slow steps, or might as well."""
        if not self.is_told_apart:
            return True
        once = (self.others + 1) / (self.windows + 2)
        usual = 1 - (1 - once) ** self.reach
        return self.hits == 0 or at_least(self.hits, self.spikes, usual) > MAX_CHANCE


class Windows:
    """Spans of time, and how much of each one slow steps took."""

    def __init__(self, spans: Sequence[tuple[float, float]], spikes: Sequence[Spike]) -> None:
        self.spans = spans
        self._spikes = spikes
        begins = [spike.begin_s for spike in spikes]
        # Which slow steps lie in a window, at least in part. They are in order.
        self.inside: list[list[int]] = []
        self.slow_s: list[float] = []
        for begin_s, end_s in spans:
            first = max(bisect.bisect_right(begins, begin_s) - 1, 0)
            last = bisect.bisect_left(begins, end_s)
            shared = [(n, _shared_s(spikes[n], begin_s, end_s)) for n in range(first, last)]
            self.inside.append([n for n, s in shared if s > 0])
            self.slow_s.append(sum(s for _, s in shared))
        self.rest_s = [max(b - a - s, 0.0) for (a, b), s in zip(spans, self.slow_s, strict=True)]

    @cached_property
    def _products(self) -> tuple[float, float, float]:
        """Sums of products of the usual and the slow seconds of all windows."""
        pairs = list(zip(self.rest_s, self.slow_s, strict=True))
        return (
            sum(r * r for r, _ in pairs),
            sum(s * s for _, s in pairs),
            sum(r * s for r, s in pairs),
        )

    def rates(self, values: Mapping[int, float]) -> tuple[float, float] | None:
        """Return how much of a quantity belongs to a usual second, and to a slow one.

        None where windows that are too much alike do not tell.

        Args:
            values: what windows have of it, by their place; the others have nothing.
        """
        usual = sum(self.rest_s[n] * value for n, value in values.items())
        slow = sum(self.slow_s[n] * value for n, value in values.items())
        return _solved(*self._products, usual, slow)

    def coincidence(self, happened: Sequence[bool]) -> Coincidence:
        """Return how often something happened with slow steps and without."""
        seen: set[int] = set()
        hit: set[int] = set()
        others = windows = 0
        for n, numbers in enumerate(self.inside):
            begin_s, end_s = self.spans[n]
            seen.update(numbers)
            if happened[n]:
                hit.update(numbers)
            if self.slow_s[n] <= CLEAN * (end_s - begin_s):
                windows += 1
                others += happened[n]
        reach = sum(map(len, self.inside)) / len(seen) if seen else 1.0
        hit_s, seen_s = (sum(self._spikes[n].extra_s for n in some) for some in (hit, seen))
        share = hit_s / seen_s if seen_s else 0.0
        return Coincidence(len(hit), len(seen), others, windows, reach, share)


def spans_of(times: Sequence[float]) -> list[tuple[float, float]]:
    """Return the spans between readings; one that is too long has no length."""
    pairs = itertools.pairwise(times)
    return [(a, b) if b - a <= MAX_WINDOW_S else (b, b) for a, b in pairs]


def _shared_s(spike: Spike, begin_s: float, end_s: float) -> float:
    return max(min(spike.end_s, end_s) - max(spike.begin_s, begin_s), 0.0)


def fitted(
    rest: Sequence[float], slow: Sequence[float], values: Sequence[float]
) -> tuple[float, float] | None:
    """Return how much belongs to a usual second and to a slow one, by least squares."""
    rows = list(zip(rest, slow, values, strict=True))
    return _solved(
        sum(r * r for r, _, _ in rows),
        sum(s * s for _, s, _ in rows),
        sum(r * s for r, s, _ in rows),
        sum(r * v for r, _, v in rows),
        sum(s * v for _, s, v in rows),
    )


def _solved(
    rr: float, ss: float, rs: float, rest_value: float, slow_value: float
) -> tuple[float, float] | None:
    """Solve the two equations of a fit with two unknowns, neither of which is negative."""
    determinant = rr * ss - rs * rs
    if not ss:
        return None
    if not rr:
        return 0.0, max(slow_value / ss, 0.0)
    if determinant < MIN_DIFFERENCE * rr * ss:
        return None
    during = max((rr * slow_value - rs * rest_value) / determinant, 0.0)
    usual = max((rest_value - rs * during) / rr, 0.0)
    return usual, during


def at_least(hits: int, tries: int, chance: float) -> float:
    """Return how likely so many hits are by chance alone."""
    if not hits or chance >= 1.0:
        return 1.0
    if chance <= 0.0:
        return 0.0
    yes, no = math.log(chance), math.log1p(-chance)
    # In logarithms: the numbers of ways are too large for a float.
    ways = (math.lgamma(tries + 1) - math.lgamma(k + 1) - math.lgamma(tries - k + 1)
            for k in range(hits, tries + 1))  # fmt: skip
    parts = (w + k * yes + (tries - k) * no for k, w in enumerate(ways, start=hits))
    return min(sum(math.exp(part) for part in parts), 1.0)
