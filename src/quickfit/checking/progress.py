"""A line on a terminal that says how far a long check has come; nothing anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from quickfit import terminal

# Shorter checks are over before anyone wonders.
PATIENCE_S = 2.0
PAUSE_S = 0.25


class Progress:
    """How many files are done.

    Args:
        stream: where to say so, if it is a terminal.
        clock: in seconds.
    """

    pause_s = PAUSE_S

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._is_watched = stream.isatty()
        self._line = terminal.StatusLine(stream)
        self._clock = clock
        self._total = self._done = 0
        self._begin_s = self._shown_s = 0.0

    def begin(self, total: int) -> None:
        """Start to count; a later round starts anew."""
        self._total, self._done = total, 0
        self._begin_s = self._clock()

    def advance(self, count: int) -> None:
        """Say so when more files are done, now and then."""
        self._done += count
        now = self._clock()
        if not self._is_watched or now - self._begin_s < PATIENCE_S:
            return
        if now - self._shown_s >= PAUSE_S:
            self._shown_s = now
            self._line.show(f"quickfit check: {self._done:,} of {self._total:,} files")

    def end(self) -> None:
        """Take the line away."""
        self._line.clear()
