"""Time spent in Python's garbage collector, estimated from short looks at it.

`gc.get_stats` counts collections for nothing, but not their time. So now and then, for half a
second, two moments of each collection are noted; the mean per generation times the count gives
the total. What is called back is made of C functions only: in a Python function the signal of
a Ctrl-C could be handled, and the collector would swallow its KeyboardInterrupt. Noting one
collection costs 0.5 µs.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import operator
import os
from collections import deque
from typing import Any

from quickfit.probes._state import now

# One look in so many readings: a script that lists `gc.callbacks` is unlikely to meet one.
LOOK_EVERY = 10
# A look goes on this long for the first full collection, which may be rare.
MAX_LOOK = 60
# More small collections than this within a look are not paired up.
_MAX_MOMENTS = 20_000
# Older looks count half once there are so many collections of a generation: heaps grow.
_MAX_SEEN = 50
_looks: set[Any] = set()  # the entries that are in `gc.callbacks` now


class Collector:
    """Estimates the time in the collector since quickfit started."""

    def __init__(self) -> None:
        self.total_s: float | None = None
        self._reads = 0
        self._counts = _counts()
        self._pending = [0, 0, 0]
        self._seen = [0.0, 0.0, 0.0]
        self._seen_s = [0.0, 0.0, 0.0]
        self._look: _Look | None = None

    def read(self, *, may_look: bool = True) -> tuple[int, float | None]:
        """Return the number of full collections so far, and the seconds in all of them.

        Args:
            may_look: a look may begin now.
        """
        counts = _counts()
        grown = [after - before for before, after in zip(self._counts, counts, strict=True)]
        self._counts = counts
        if self._look is not None:
            self._look.add(grown)
            if self._is_enough(self._look):
                self._learn(self._look.close(), self._look.grown)
                self._look = None
        elif may_look and self._reads % LOOK_EVERY == 0:
            self._look = _Look()
        self._reads += may_look
        self._account(grown)
        return counts[2], self.total_s

    def _is_enough(self, look: _Look) -> bool:
        is_unknown = self._pending[2] and not self._seen[2] and not look.grown[2]
        return not is_unknown or look.reads >= MAX_LOOK

    def _learn(self, spans: list[float], grown: list[int]) -> None:
        """Take the longest collections for the full ones, and so on down."""
        if len(spans) != sum(grown):
            return  # one was going on when the look began or ended
        self.total_s = self.total_s or 0.0
        spans.sort()
        for generation in (0, 1, 2):
            part, spans = spans[: grown[generation]], spans[grown[generation] :]
            if self._seen[generation] > _MAX_SEEN:
                self._seen[generation] /= 2
                self._seen_s[generation] /= 2
            self._seen[generation] += len(part)
            self._seen_s[generation] += sum(part)

    def _account(self, grown: list[int]) -> None:
        for generation, count in enumerate(grown):
            self._pending[generation] += count
            if self._seen[generation] and self.total_s is not None:
                mean_s = self._seen_s[generation] / self._seen[generation]
                self.total_s += mean_s * self._pending[generation]
                self._pending[generation] = 0


class _Target(io.IOBase):
    """Has an `__exit__` in C that takes any arguments, drops them, and calls `close`."""


class _Look:
    """Notes when each collection begins and ends, from now until it is closed."""

    def __init__(self) -> None:
        self.reads = 0
        self.grown = [0, 0, 0]
        self._moments: deque[float] = deque(maxlen=_MAX_MOMENTS)
        # Each step of this iterator notes the time; no Python code runs in it.
        times = map(operator.call, itertools.repeat(now))
        note = map(self._moments.append, times)
        target = _Target()
        target.close = note.__next__  # type: ignore[method-assign]
        entry: Any = target.__exit__
        self._entry = entry
        _looks.add(self._entry)
        gc.callbacks.append(self._entry)

    def add(self, grown: list[int]) -> None:
        """Count the collections since the last reading."""
        self.reads += 1
        self.grown = [a + b for a, b in zip(self.grown, grown, strict=True)]

    def close(self) -> list[float]:
        """Stop noting; return how long each collection took."""
        _remove(self._entry)
        moments = list(self._moments)
        return [end - begin for begin, end in zip(moments[::2], moments[1::2], strict=False)]


def _remove(entry: Any) -> None:
    _looks.discard(entry)
    # The script may have emptied the list.
    with contextlib.suppress(ValueError):
        gc.callbacks.remove(entry)


def _remove_all() -> None:
    for entry in list(_looks):
        _remove(entry)


def _counts() -> list[int]:
    return [int(generation["collections"]) for generation in gc.get_stats()]


if hasattr(os, "register_at_fork"):
    # The reader that would end a look stays behind in the parent.
    os.register_at_fork(after_in_child=_remove_all)
