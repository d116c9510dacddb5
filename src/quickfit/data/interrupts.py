"""Ctrl-C while TensorFlow waits for an element and Python cannot notice it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from quickfit import terminal

STOPPING = "stopping; Ctrl-C again ends at once"
# What a shell says of a program that Ctrl-C has ended.
EXIT_CODE = 128 + signal.SIGINT
# Usually the first Ctrl-C ends everything sooner than this, and there is nothing to say.
_PATIENCE_S = 0.25
# Any Python code of the main thread would have noticed by then.
_NOTICE_S = 0.5
# What is read later than this was noticed long ago.
_OLD_S = 2.0
_NOTICE = (
    "quickfit: Ctrl-C will be seen when the batch in the making is done."
    " Press it again to stop now (a script then sees a RuntimeError).\n"
)
# The frame of the main thread and the instruction in it.
_Place: TypeAlias = "tuple[int, int]"


@contextlib.contextmanager
def second_interrupt_ends() -> Iterator[Callable[[], None]]:
    """Let the first Ctrl-C end what runs inside as ever, and the second one end the process.

    Yields a function to call now and then. It raises KeyboardInterrupt if there was one already:
    Python drops those that it raises while TensorFlow calls it or an object is being deleted.
    """
    is_over = threading.Event()

    def check() -> None:
        if is_over.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check  # only the main one may ask for signals, and only it is interrupted by them
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    watching = threading.Thread(target=_count_interrupts, args=(heard, is_over), daemon=True)
    watching.start()
    try:
        yield check
        check()
    finally:
        signal.set_wakeup_fd(before)
        os.close(told)  # which ends the thread
        watching.join()
        os.close(heard)


def _count_interrupts(heard: int, is_over: threading.Event) -> None:
    """Count interrupts, each of which is a byte in a pipe, until the pipe is closed."""
    count, is_said = 0, False
    while True:
        wait_s = _PATIENCE_S if count and not is_said else None
        if not select.select([heard], [], [], wait_s)[0]:
            is_said = True
            _write_notice(f"quickfit: {STOPPING}\n")
            continue
        signals = os.read(heard, 64)
        if not signals:
            return
        count += signals.count(signal.SIGINT)
        if count:
            is_over.set()
        if count > 1:
            _flush_streams()
            os._exit(EXIT_CODE)


def _write_notice(text: str) -> None:
    # Nobody may be listening any more, and that is no reason not to stop.
    with contextlib.suppress(OSError, ValueError):
        line_end = "\n" if sys.stderr.isatty() else ""
        terminal.write(sys.stderr, line_end + text)


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()


def _main_thread_place() -> _Place:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return (id(frame), frame.f_lasti if frame else -1)


class UnnoticedInterrupts:
    """The Ctrl-Cs during a pool's life.

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
            terminal.write(sys.stderr, _NOTICE)
            self._told_place = self._place
        self._place = None


def _is_out_of_reach() -> bool:
    """Return whether Ctrl-C is for the main thread, and that is not this one."""
    handler = signal.getsignal(signal.SIGINT)  # the user's own handler is respected
    in_main = threading.current_thread() is threading.main_thread()
    return handler is signal.default_int_handler and not in_main
