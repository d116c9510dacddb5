"""What a few measured ratios are worth: their mean and an interval, with pairs as the unit."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t for a 95 % interval, by degrees of freedom; from ten on it changes little.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
# Two identical programs differ by this much between pairs on a quiet machine; a few ratios that
# happen to agree better say no more than that.
MIN_SPREAD = 0.01
# An interval whose ends differ by more says nothing: from half as fast to nearly twice as fast.
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
        """Whether there is an interval, and one that is narrow enough to say something."""
        return self.pairs > 1 and self.high <= WIDEST * self.low


def interval(ratios: Sequence[float], *, widened: float = 1.0) -> Measured:
    """Return the mean of ratios and the 95 % interval around it; ratios multiply.

    Args:
        ratios: one per pair, at least one.
        widened: a factor on the width, for pairs that were not measured in turns.
    """
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    if len(logs) == 1:
        return Measured(0.0, math.exp(mean), math.inf, 1)
    spread = max(statistics.stdev(logs), MIN_SPREAD)
    t = T95[min(len(logs) - 1, len(T95)) - 1]
    half = widened * t * spread / math.sqrt(len(logs))
    return Measured(math.exp(mean - half), math.exp(mean), math.exp(mean + half), len(logs))
