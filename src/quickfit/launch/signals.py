"""Signals as the parent sees them: held back, and told apart by who sent them.

A Ctrl-C at the terminal reaches the script by itself, because it is in our process group; a
`kill` of quickfit's process id does not. Linux tells the two apart (`si_code`) to a process
that blocks its signals and asks for them, so that is what the parent does.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from types import FrameType, TracebackType
from typing import Any, NamedTuple

# What would end the parent, what a job scheduler sends to warn a script, and a terminal resized.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH")
_SI_KERNEL = 0x80
_POLL_S = 0.05
_HAS_TIMED_WAIT = hasattr(signal, "sigtimedwait")


class Arrival(NamedTuple):
    """One signal that was sent to the parent."""

    number: int
    is_from_terminal: bool
    sender: int


class SignalWatch:
    """Holds the signals of this process back while it is entered; `wait` hands them out.

    A signal that is ignored (`nohup`, a background job) stays ignored, here and in the script.
    """

    def __init__(self) -> None:
        self.mask_before: set[int] = set()
        self._handlers: dict[int, Any] = {}  # whatever `signal.signal` gave back
        self._handled: deque[Arrival] = deque()
        self._watched: set[int] = set()

    def __enter__(self) -> SignalWatch:
        known = {int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)}
        self._watched = {n for n in known if signal.getsignal(n) is not signal.SIG_IGN}
        for number in self._watched:
            # A thread that was started earlier does not block them: its handler counts too.
            self._handlers[number] = signal.signal(number, self._on_signal)
        if hasattr(signal, "SIGCHLD"):
            self._watched.add(signal.SIGCHLD)
            # An ignored SIGCHLD would throw away how the script ended.
            self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # Tells that we were stopped for a while, see `_was_stopped`.
            self._watched.add(signal.SIGCONT)
        if _HAS_TIMED_WAIT:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, self._watched)
            self.mask_before = {int(number) for number in before}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while self.wait(0.0) is not None:
            pass  # it was meant for the run, which is over
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if _HAS_TIMED_WAIT:
            signal.pthread_sigmask(signal.SIG_SETMASK, self.mask_before)

    def wait(self, timeout_s: float) -> Arrival | None:
        """Return the next signal, or None after `timeout_s`."""
        if self._handled:
            return self._handled.popleft()
        if not _HAS_TIMED_WAIT:
            time.sleep(min(timeout_s, _POLL_S))
        else:
            begin_s = time.monotonic()
            info = signal.sigtimedwait(self._watched, timeout_s)
            if info is not None and not (timeout_s > 0 and _was_stopped(begin_s + timeout_s)):
                return Arrival(info.si_signo, info.si_code == _SI_KERNEL, info.si_pid)
        return self._handled.popleft() if self._handled else None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._handled.append(Arrival(number, _may_be_typed(number), 0))


def _was_stopped(deadline_s: float) -> bool:
    """Tell whether Ctrl-Z and `fg` came between, so that nothing was received.

    `sigtimedwait` is interrupted then; when its time is up as well, Python 3.11 hands out memory
    that nobody wrote to as a signal. What was really sent is still to come, SIGCONT among it.
    """
    return time.monotonic() >= deadline_s and signal.SIGCONT in signal.sigpending()


def _may_be_typed(number: int) -> bool:
    """Guess, where the system does not tell, whether the terminal sent it to the whole group."""
    if number not in (signal.SIGINT, getattr(signal, "SIGQUIT", None)):
        return False
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except (OSError, AttributeError):
        return False
