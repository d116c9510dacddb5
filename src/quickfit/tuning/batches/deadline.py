"""Ends a trial that goes on past the time there is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Protocol


class Killable(Protocol):
    """A trial with a process of its own, whose number is that of its group."""

    @property
    def pid(self) -> int | None:
        """The number of the process; None where there is none."""


@contextmanager
def ended_after(trial: Killable, seconds: float) -> Iterator[Event]:
    """End a trial that is still at work after so long; the event tells that it was.

    A trial that shows signs of life has not hung, and would be waited for as long as it takes.
    """
    is_over = Event()

    def end() -> None:
        is_over.set()
        if trial.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(trial.pid, signal.SIGKILL)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
