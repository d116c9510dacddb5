"""Splits a time by stack samples: which of the user's lines it was spent at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from quickfit.findings import Location
from quickfit.signals import Signals
from quickfit.signals.stacks import Frame

# Of the lines of one part, those with this share of it are nodes of their own.
MIN_LINE_SHARE = 0.10
MAX_LINES = 5


@dataclass
class LineTimes:
    """Seconds and samples by the user's line."""

    seconds: dict[Frame | None, float] = field(default_factory=lambda: defaultdict(float))
    samples: float = 0.0

    def add(self, line: Frame | None, seconds: float, seen: float = 1.0) -> None:
        """Count time that was seen at a line."""
        self.seconds[line] += seconds
        self.samples += seen

    @property
    def total_s(self) -> float:
        """All seconds."""
        return sum(self.seconds.values())

    def hottest(self) -> list[tuple[Frame, float]]:
        """Return the lines with a share worth naming, the longest first."""
        known = [(line, s) for line, s in self.seconds.items() if line is not None]
        known.sort(key=lambda each: each[1], reverse=True)
        least_s = MIN_LINE_SHARE * self.total_s
        return [(line, s) for line, s in known[:MAX_LINES] if s >= least_s > 0]


def innermost_user_line(frames: Iterable[Frame]) -> Frame | None:
    """Return the user's line that is at work, or that called the library which is."""
    return next((f for f in frames if f.is_user and not f.file.startswith("<")), None)


def place_of(signals: Signals, frame: Frame | None) -> Location | None:
    """Return where a frame was, with the text of its line."""
    return None if frame is None else signals.location(frame.file, frame.line)
