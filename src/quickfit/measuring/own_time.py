"""The pace of a program that was let run in turns, by the time in which it ran.

A program is stopped and continued; what counts is its own time, which stands still while it is
stopped. Progress between two of its marks is taken to be even, so that a long step or a pause
between epochs that was cut by a stop still counts in full. The first moments of a turn do not
count: caches are cold then.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from quickfit.measuring.interleave import SETTLE_S

Span = Sequence[float]


@dataclass(frozen=True)
class Window:
    """A stretch of a program's work: what it did, in its own seconds."""

    progress: float
    own_s: float

    @property
    def pace_s(self) -> float:
        """Own seconds for one unit of progress."""
        return self.own_s / self.progress


class OwnTime:
    """The clock of one program that only goes while the program is let run.

    Args:
        spans: begin and end of each time it was let run, in order.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = [(span[0], span[1]) for span in spans if len(span) == 2]
        self._before = [0.0]
        for begin_s, end_s in self._spans:
            self._before.append(self._before[-1] + end_s - begin_s)

    @property
    def total_s(self) -> float:
        """How long it was let run in all."""
        return self._before[-1]

    def at(self, at_s: float) -> float:
        """Return the own time at a moment of the common clock."""
        number = bisect.bisect_right([begin_s for begin_s, _ in self._spans], at_s)
        if number == 0:
            return 0.0
        begin_s, end_s = self._spans[number - 1]
        return self._before[number - 1] + min(at_s, end_s) - begin_s

    def settling(self) -> list[tuple[float, float]]:
        """Return the first moments of each turn but the first, in own time."""
        return [
            (own_s, own_s + min(SETTLE_S, end_s - begin_s))
            for own_s, (begin_s, end_s) in list(zip(self._before, self._spans, strict=False))[1:]
        ]


def window(clock: OwnTime, marks: Sequence[tuple[float, float]]) -> Window | None:
    """Return the work between the first and the last mark, the first moments of turns left out.

    Args:
        clock: of the program.
        marks: moments of the common clock, and how far the program was, in order.
    """
    points = [(clock.at(at_s), done) for at_s, done in marks]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    begin, end = points[0], points[-1]
    own_s, progress = end[0] - begin[0], end[1] - begin[1]
    for from_s, to_s in clock.settling():
        from_s, to_s = max(from_s, begin[0]), min(to_s, end[0])
        if to_s > from_s:
            own_s -= to_s - from_s
            progress -= _progress_at(points, to_s) - _progress_at(points, from_s)
    return Window(progress, own_s) if progress > 0 and own_s > 0 else None


def _progress_at(points: Sequence[tuple[float, float]], own_s: float) -> float:
    """Return how far a program was at an own time between its first and last mark."""
    for (before_s, before), (after_s, after) in pairwise(points):
        if before_s <= own_s <= after_s and after_s > before_s:
            return before + (after - before) * (own_s - before_s) / (after_s - before_s)
    return points[0][1] if own_s <= points[0][0] else points[-1][1]
