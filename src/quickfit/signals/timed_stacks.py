"""How long each sampled stack lasted.

A recording counts stacks per half second. Where they are sampled in Python, nothing is seen while
C code holds Python's lock; the first sample after such a gap comes at once and ends its window,
so that what a window is too long for its samples belongs to its last row.
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.host import Frame, Samples

# Twenty samples a second, where too few windows were seen to tell.
USUAL_S = 0.05
# A window with so many times more samples than fit into it was merged with later ones.
MERGED = 3.0


@dataclass(frozen=True)
class TimedStack:
    """A stack of the main thread, innermost frame first, with its seconds in one window."""

    frames: tuple[Frame, ...]
    loop: int | None
    seconds: float
    seen: float = 1.0


@dataclass
class _Window:
    begin_s: float
    end_s: float
    rows: list[tuple[tuple[Frame, ...], int | None, int]] = field(default_factory=list)

    @property
    def seen(self) -> int:
        return sum(seen for _, _, seen in self.rows)

    @property
    def duration_s(self) -> float:
        return self.end_s - self.begin_s


Wanted = Callable[[tuple[Frame, ...], int | None], bool]


def timed_stacks(
    process: ProcessRecording, begin_s: float, end_s: float, *, wanted: Wanted
) -> list[TimedStack]:
    """Return the main thread's stacks in a span of time; their seconds add up to it, or to none.

    Args:
        process: where they were recorded.
        begin_s: when the span begins.
        end_s: when it ends.
        wanted: whether a stack belongs to the span; asked where a window reaches beyond it.
    """
    return StackClock(process).between(begin_s, end_s, wanted=wanted)


class StackClock:
    """The main thread's stacks of one process, for many spans of time."""

    def __init__(self, process: ProcessRecording) -> None:
        known = Samples(process)._stacks
        self._windows: list[_Window] = []
        for row in process.rows("samples"):
            if not self._windows or row["at_s"] > self._windows[-1].end_s:
                earlier_s = self._windows[-1].end_s if self._windows else -math.inf
                self._windows.append(_Window(earlier_s, row["at_s"]))
            role, frames = known.get(row["stack"], ("", ()))
            if role == "main":
                self._windows[-1].rows.append((frames, row["loop"], row["seen"]))
        self._ends = [window.end_s for window in self._windows]

    def between(self, begin_s: float, end_s: float, *, wanted: Wanted) -> list[TimedStack]:
        """Return what `timed_stacks` says."""
        if end_s <= begin_s:
            return []
        first = bisect.bisect_right(self._ends, begin_s)
        last = bisect.bisect_left(self._ends, end_s) + 1
        inside = [w for w in self._windows[first:last] if w.begin_s < end_s]
        if inside and inside[0].begin_s == -math.inf:
            inside[0] = _Window(min(begin_s, inside[0].end_s), inside[0].end_s, inside[0].rows)
        usual_s = _usual_s(inside)
        merged = any(w.seen * usual_s > MERGED * w.duration_s + 1.0 for w in inside)
        found: list[TimedStack] = []
        for window in inside:
            if window.begin_s < begin_s or window.end_s > end_s:
                window = _clipped(window, begin_s, end_s, wanted)
            found += _spread(window, usual_s, gaps=not merged)
        total_s = sum(stack.seconds for stack in found)
        if total_s <= 0:
            return []
        scale = (end_s - begin_s) / total_s
        return [
            TimedStack(stack.frames, stack.loop, stack.seconds * scale, stack.seen)
            for stack in found
        ]


def _usual_s(windows: list[_Window]) -> float:
    """Return the usual time between two samples; quickfit takes fewer where they cost much."""
    full = [w.duration_s / w.seen for w in windows if w.seen >= 5]
    return statistics.median(full) if len(full) >= 3 else USUAL_S


def _clipped(window: _Window, begin_s: float, end_s: float, wanted: Wanted) -> _Window:
    rows = [row for row in window.rows if wanted(row[0], row[1])]
    return _Window(max(window.begin_s, begin_s), min(window.end_s, end_s), rows)


def _spread(window: _Window, usual_s: float, *, gaps: bool) -> list[TimedStack]:
    """Return a window's stacks with the time each had; a gap goes to the last one."""
    if not window.rows or window.duration_s <= 0:
        return []
    each_s = min(usual_s, window.duration_s / window.seen) if gaps else usual_s
    seconds = [seen * each_s for _, _, seen in window.rows]
    if gaps:
        gap_s = window.duration_s - sum(seconds)
        # Samples that come a little late are all late alike.
        if gap_s < 2 * usual_s:
            seconds = [s * window.duration_s / sum(seconds) for s in seconds]
        else:
            seconds[-1] += gap_s
    return [
        TimedStack(frames, loop, s, seen)
        for (frames, loop, seen), s in zip(window.rows, seconds, strict=True)
    ]
