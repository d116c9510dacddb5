"""Ctrl-C that the training cannot notice, because it waits inside TensorFlow for a batch.

Python tells the main thread of a signal when it is back in Python code. While that waits for slow
items, Ctrl-C seems dead. A terminal sends Ctrl-C to the workers too; they pass it on, and the
user is told. A second one ends the wait, though TensorFlow then raises a RuntimeError where Python
would raise KeyboardInterrupt: so not the first, which many scripts save their work on.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeAlias

from quickfit import terminal

# Any Python code of the main thread would have noticed by then.
_NOTICE_S = 0.5
# What is read later than this was noticed long ago.
_OLD_S = 2.0
_TOLD = (
    "quickfit: Ctrl-C will be seen when the batch in the making is done."
    " Press it again to stop now (a script then sees a RuntimeError).\n"
)

# The frame of the main thread and the instruction in it.
_Place: TypeAlias = "tuple[int, int]"


def _main_thread_place() -> _Place:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return (id(frame), frame.f_lasti if frame else -1)


class Interrupts:
    """The Ctrl-Cs during a crew's life.

    Args:
        clock: the one that all processes share.
        where: tells where the main thread is.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        where: Callable[[], _Place] = _main_thread_place,
    ) -> None:
        self._clock = clock
        self._where = where
        self._place: _Place | None = None
        self._told_place: _Place | None = None
        self._until_s = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether the main thread may still notice by itself."""
        return self._place is not None

    def hear(self, sent_s: float) -> bool:
        """Take note of a Ctrl-C sent then (`time.monotonic`); True to stop at once."""
        now_s, place = self._clock(), self._where()
        if now_s - sent_s > _OLD_S or not _is_out_of_reach():
            return False
        if self._told_place == place:
            return True
        # Every worker passes on the same one.
        if self._place is None:
            self._place, self._until_s = place, now_s + _NOTICE_S
        return False

    def settle(self) -> None:
        """Tell the user, if the main thread has not moved since Ctrl-C."""
        if self._place is None or self._clock() < self._until_s:
            return
        if self._place == self._where():
            terminal.write(sys.stderr, _TOLD)
            self._told_place = self._place
        self._place = None


def held_back() -> set[int | signal.Signals]:
    """Hold Ctrl-C back in this thread, for a process to be started; returns what was before."""
    return signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def let_through(before: set[int | signal.Signals]) -> None:
    """Undo `held_back`."""
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_out_of_reach() -> bool:
    """Return whether Ctrl-C is for the main thread, and that is not this one."""
    handler = signal.getsignal(signal.SIGINT)  # the user's own handler is respected
    in_main = threading.current_thread() is threading.main_thread()
    return handler is signal.default_int_handler and not in_main
