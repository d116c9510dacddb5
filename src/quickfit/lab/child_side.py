"""What a child does for itself: end with its parent, go first where memory is short, answer.

It is loaded inside the child, in a trial even before the user's script: it imports next to nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1
_KIB = 1024
# While a long command runs, the child says this often that it is alive.
ALIVE_S = 1.0


def end_with_parent(number: int = signal.SIGKILL) -> None:
    """Let Linux send this process a signal when the thread that started it ends."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def settle(parent: int) -> None:
    """End with the parent, at once if it is gone, and be the first to go where memory runs out.

    Args:
        parent: the process that this one must not outlive. A stopped one would stay forever.
    """
    end_with_parent()
    if os.getppid() != parent:
        os._exit(1)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        return


def limit_memory(growth_bytes: int) -> None:
    """Let this process take so much more memory than it has, and no more.

    The limit is on writable memory that was asked for (RLIMIT_DATA), used or not: it is met at
    the latest when the memory has grown by so much. A limit on address space (RLIMIT_AS) would
    be met ten times earlier: each new thread reserves 64 MB that it never writes to.
    """
    import resource

    most = status_bytes("VmData") + growth_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def status_bytes(name: str, pid: int | str = "self") -> int:
    """Return a size that Linux tells of a process, such as `VmRSS`; 0 where it does not."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * _KIB
    except (OSError, ValueError):
        return 0
    return 0


def signal_name(number: int) -> str:
    """Return `SIGTERM` for 15; a real-time signal keeps its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class ParentLink:
    """Talks to the process that started this one, in lines of JSON over two pipes.

    Args:
        commands: the descriptor that commands are read from.
        answers: the descriptor that answers are written to.
        clock: seconds that never go back.
    """

    def __init__(
        self, commands: int, answers: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        for descriptor in (commands, answers):
            # Processes that the user's code starts must not keep the pipes open.
            os.set_inheritable(descriptor, False)
        self._commands = os.fdopen(commands, "rb", closefd=False)
        self._answers = answers
        self._clock = clock
        self._said_s = clock()
        self._phase = ""

    def command(self) -> dict[str, Any]:  # Any: JSON
        """Wait for the next command; where the parent can give none any more, end at once."""
        line = self._commands.readline()
        if not line.endswith(b"\n"):
            os._exit(0)
        command: dict[str, Any] = json.loads(line)
        return command

    def answer(self, kind: str, content: dict[str, Any]) -> None:
        """Send the outcome of a command."""
        self._write({"kind": kind, **content})

    def enter(self, phase: str, **facts: Any) -> None:  # Any: JSON
        """Say what is done from now on: a failure is reported with it."""
        self._phase = phase
        self._write({"kind": "alive", "phase": phase, **facts})

    def say_alive(self) -> None:
        """Say from time to time that the work goes on."""
        if self._clock() - self._said_s >= ALIVE_S:
            self._write({"kind": "alive", "phase": self._phase})

    def _write(self, message: dict[str, Any]) -> None:
        self._said_s = self._clock()
        rest = json.dumps(message).encode() + b"\n"
        while rest:
            try:
                rest = rest[os.write(self._answers, rest) :]
            except BrokenPipeError:
                os._exit(0)  # the process that asked is gone
