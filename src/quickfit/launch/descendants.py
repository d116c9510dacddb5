"""Processes the script started: found as they are orphaned, and none left behind.

On Linux the parent is a child subreaper: whatever the script leaves behind becomes our child.
Elsewhere orphans cannot be followed, and nothing here does anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from quickfit.launch.signals import SignalWatch
from quickfit.launch.status import say

# How long a process may take to end by itself, and then to react to SIGTERM.
PATIENCE_S = 2.0
_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.05
_COMMAND_CHARS = 80


class Descendant(NamedTuple):
    """A living process below us."""

    pid: int
    session: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})"


def prctl(option: int, value: int) -> bool:
    """Set a Linux attribute of this process; False where there is no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def adopt_orphans(*, wanted: bool) -> None:
    """Become, or stop being, the one whom orphans of the script are given to."""
    prctl(_PR_SET_CHILD_SUBREAPER, int(wanted))


def descendants(*, without: Collection[int] = ()) -> list[Descendant]:
    """Return the living processes below this one, but not `without` nor what is below those."""
    children: dict[int, list[tuple[int, int]]] = {}
    for pid, parent, session in _process_table():
        children.setdefault(parent, []).append((pid, session))
    found: list[Descendant] = []
    waiting = [os.getpid()]
    while waiting:
        for pid, session in children.get(waiting.pop(), ()):
            if pid not in without:
                found.append(Descendant(pid, session, _command(pid)))
                waiting.append(pid)
    return found


def _process_table() -> Iterator[tuple[int, int, int]]:
    """Yield process id, parent and session of everything alive."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name stands in parentheses and may hold anything, even parentheses.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if len(fields) > 3 and fields[0] not in "ZX":
            yield int(folder.name), int(fields[1]), int(fields[3])


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return "?"
    text = " ".join(word.decode(errors="replace") for word in words)
    return text if len(text) <= _COMMAND_CHARS else text[: _COMMAND_CHARS - 1] + "…"


class Leftovers:
    """The processes the script left behind when it ended.

    Those in a session of their own were meant to live on. Others are given a moment to end by
    themselves, as a worker does that notices its closed pipe, and are then ended.

    Args:
        signals: wakes us when one of them ends; a Ctrl-C cuts the patience short.
        reap: collects what has ended.
        spared: processes that were below us before the script was started.
    """

    def __init__(
        self, signals: SignalWatch, reap: Callable[[], object], spared: Collection[int]
    ) -> None:
        self._signals = signals
        self._reap = reap
        self._spared = spared

    def end(self) -> None:
        """Return when none is left but those that were meant to live on."""
        self._wait()
        self._end_by(signal.SIGTERM, "did not end with the script; ending it")
        self._wait()
        # Twice: the first time, one of them may have been about to start another.
        for _ in range(2):
            self._end_by(signal.SIGKILL, "did not react to SIGTERM; killing it")
            self._wait()
        for process in self._alive():
            say(f"{process} has a session of its own and is left running", mid_run=True)

    def _alive(self) -> list[Descendant]:
        self._reap()
        return descendants(without=self._spared)

    def _unwanted(self) -> list[Descendant]:
        return [process for process in self._alive() if process.session == os.getsid(0)]

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self._unwanted() and (left := deadline - time.monotonic()) > 0:
            arrival = self._signals.wait(min(left, _POLL_S))
            if arrival is not None and arrival.number == signal.SIGINT:
                return

    def _end_by(self, number: int, reason: str) -> None:
        for process in self._unwanted():
            say(f"{process} {reason}", mid_run=True)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)
