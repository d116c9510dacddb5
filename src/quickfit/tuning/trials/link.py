"""The child's end of the pipes: commands come in, answers go out, one line of JSON each."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

# While a long command runs, its child says this often that it lives.
ALIVE_S = 1.0


class Link:
    """Talks to the process that started this one.

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
        self._told_s = clock()
        self._phase = ""

    def command(self) -> dict[str, Any]:  # Any: JSON
        """Wait for the next command; where nobody can give one any more, end at once."""
        line = self._commands.readline()
        if not line.endswith(b"\n"):
            os._exit(0)
        command: dict[str, Any] = json.loads(line)
        return command

    def answer(self, kind: str, content: dict[str, Any]) -> None:
        """Tell the outcome of a command."""
        self._write({"kind": kind, **content})

    def enter(self, phase: str, step_bytes: int = 0) -> None:
        """Say what is done from now on; it is what a failure is told with.

        Args:
            phase: in words.
            step_bytes: the memory that a step is known to need, if it is known.
        """
        self._phase = phase
        known = {"step_bytes": step_bytes} if step_bytes else {}
        self._write({"kind": "alive", "phase": phase, **known})

    def live(self) -> None:
        """Say from time to time that the work goes on."""
        if self._clock() - self._told_s >= ALIVE_S:
            self._write({"kind": "alive", "phase": self._phase})

    def _write(self, message: dict[str, Any]) -> None:
        self._told_s = self._clock()
        rest = json.dumps(message).encode() + b"\n"
        while rest:
            try:
                rest = rest[os.write(self._answers, rest) :]
            except BrokenPipeError:
                os._exit(0)  # the process that asked is gone
