"""How far a training was at a moment, which is where a reading belongs in a series."""

from __future__ import annotations

import bisect
import itertools
from typing import Any

from quickfit.measuring.trend import Point
from quickfit.signals.steps import Steps

Row = dict[str, Any]  # as the reader hands them out
Series = dict[str, list[Point]]


class Progress:
    """Tells how far the training was at a moment, and how long its steps took around then."""

    def __init__(self, steps: Steps, before: int) -> None:
        self.before = before
        self.begin_s = steps.begin_s
        self._ends = [step.end_s for step in steps.steps]
        self._cycles = [0.0, *itertools.accumulate(step.cycle_s for step in steps.steps)]

    def done(self, at_s: float) -> int:
        """Return how many steps had ended at a moment."""
        return self.before + bisect.bisect_right(self._ends, at_s)

    def moments(self) -> list[float]:
        """Return when the first step began, and when each of them ended."""
        return [self.begin_s, *self._ends]

    def step_s(self, begin_s: float, end_s: float) -> float | None:
        """Return the mean time of the steps that ended in a span, or of the one after it."""
        first, last = (bisect.bisect_right(self._ends, at_s) for at_s in (begin_s, end_s))
        if first == last:
            last = min(last + 1, len(self._ends))
        return (self._cycles[last] - self._cycles[first]) / (last - first) if last > first else None
