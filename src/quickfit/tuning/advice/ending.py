"""A command that is told to end, by `timeout` or a scheduler, cleans up first."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal asks this process to end; no `except Exception` may keep it.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a signal to end be an exception, so that children and scratch folders go too.

    Raises:
        Ended: there was one. Further ones are ignored while things are cleaned up.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise Ended(number)

    # What is ignored stays so: `nohup` does that.
    before = {one: signal.getsignal(one) for one in _SIGNALS}
    before = {one: known for one, known in before.items() if known is not signal.SIG_IGN}
    for one in before:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one, known in before.items():
            signal.signal(one, known)
