"""Says what is being done: a line that is rewritten on a terminal, few lines elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from quickfit import terminal, units

# In a pipe or a log, a line at most so often.
QUIET_S = 10.0
# On a terminal the time left counts down, so that one sees that it lives.
BEAT_S = 1.0


class Ticker:
    """Tells which candidate is being tried, how far, and how much time is left.

    Args:
        stream: where to write.
        left_s: returns the time left, or None where there is no limit.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        stream: TextIO,
        left_s: Callable[[], float | None] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._left_s = left_s
        self._clock = clock
        self._title = self._text = ""
        self._lock = threading.Lock()
        self._said_s = -QUIET_S
        self._line = terminal.StatusLine(stream)

    def begin(self, title: str) -> None:
        """Begin with something else."""
        self._title = title
        self._said_s = -QUIET_S
        self.tell("")

    def tell(self, text: str) -> None:
        """Say how far it is."""
        with self._lock:
            self._text = text
            self._say()

    def repeat(self) -> None:
        """Say the same once more, with the time that is left now."""
        with self._lock:
            self._say()

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Repeat the line again and again, while something is done that says nothing."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT_S):
                self.repeat()

        thread = threading.Thread(target=beat, name="quickfit-ticker", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _say(self) -> None:
        parts = [part for part in (self._title, self._text, self._left()) if part]
        line = " · ".join(parts)
        if self._stream.isatty():
            self._line.show(f"quickfit: {line}")
        elif self._clock() - self._said_s >= QUIET_S:
            self._said_s = self._clock()
            terminal.say(line, self._stream)

    def _left(self) -> str:
        left_s = self._left_s()
        return "" if left_s is None else f"{units.seconds(left_s)} of the budget left"

    def clear(self) -> None:
        """Take the line away again, where it can be."""
        self._line.clear()
