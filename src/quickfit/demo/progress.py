"""One line that grows while something long happens: `making 600 photographs … 300 … 3 s`."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from quickfit import terminal, units

# Silence longer than this looks like a hang; a word more often than that is noise.
FIRST_WORD_S = 2.0
NEXT_WORD_S = 6.0


class ProgressLine:
    """Writes what is being done, a word every few seconds, and at the end how long it took.

    It only ever appends, so it reads the same on a terminal, in a pipe and in a log.

    Args:
        stream: where to write.
        title: what is being done.
        clock: seconds that only grow.
    """

    def __init__(
        self, stream: TextIO, title: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._title = title
        self._clock = clock
        self._begin_s = clock()
        self._quiet_until_s = self._begin_s + FIRST_WORD_S

    def __enter__(self) -> ProgressLine:
        self._write(f"{self._title} …")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        took = units.seconds(self._clock() - self._begin_s)
        self._write(f" {took}\n" if kind is None else "\n")

    def say(self, text: str) -> None:
        """Add a word now."""
        self._quiet_until_s = self._clock() + NEXT_WORD_S
        self._write(f" {text} …")

    def count(self, done: int, total: int) -> None:
        """Add how far it has come, if nothing was said for a while."""
        if done < total and self._clock() >= self._quiet_until_s:
            self.say(f"{units.count(done)} of {units.count(total)}")

    def _write(self, text: str) -> None:
        terminal.write(self._stream, text)
