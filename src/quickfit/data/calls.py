"""Lets calls from a pipeline into Python end before the interpreter does.

A pipeline reads ahead in threads of its own. A script that ends while one of them is in Python
takes the interpreter away from it; TensorFlow then waits for that thread forever. So when the
script ends, calls that have begun are waited for, and new ones return at once, with nothing.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

# The buffers of a pipeline fill up with nothing and then ask no more: this long nobody asked.
_QUIET_S = 0.05
_LOOK_S = 0.005
# A disk that hangs must not keep a script from ending as it would without us.
_MOST_S = 10.0
_END = object()


class Calls:
    """The calls into Python of all pipelines."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._made = 0
        self._is_over = False
        self._is_registered = False

    def lasting(
        self, function: Callable[..., Any], nothing: Callable[[], Any]
    ) -> Callable[..., Any]:
        """Return the function, which the interpreter waits for (`Any`: arrays of any kind).

        Args:
            function: is called by a pipeline.
            nothing: makes what it returns once the script has ended.
        """
        self._register()

        def call(*arrays: Any) -> Any:
            with self._lock:
                self._made += 1
                if self._is_over:
                    return nothing()
                self._inside += 1
            try:
                return function(*arrays)
            finally:
                with self._lock:
                    self._inside -= 1

        return call

    def lasting_passes(
        self, begin: Callable[[], Iterator[Any]]
    ) -> Callable[[], Iterator[Any]]:  # Any: batches of any kind
        """Return a generator function each of whose steps the interpreter waits for."""

        def passes() -> Iterator[Any]:
            batches = begin()
            step = self.lasting(lambda: next(batches, _END), lambda: _END)
            while (batch := step()) is not _END:
                yield batch

        return passes

    def _register(self) -> None:
        with self._lock:
            is_new, self._is_registered = not self._is_registered, True
        if is_new:
            atexit.register(self.end)

    def end(
        self,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Wait until all calls have returned and no new ones come."""
        with self._lock:
            self._is_over = True
        began = quiet_since = now()
        made = -1
        while now() - quiet_since < _QUIET_S and now() - began < _MOST_S:
            sleep(_LOOK_S)
            with self._lock:
                is_quiet = not self._inside and made == self._made
                made = self._made
            if not is_quiet:
                quiet_since = now()


CALLS = Calls()
