"""A child process behind two pipes: whatever it does, its parent goes on."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quickfit.tuning.trials import endings
from quickfit.tuning.trials.answers import Failure, TrialFailed
from quickfit.tuning.trials.endings import Circumstances
from quickfit.tuning.trials.holdings import Holdings

# A process that the child started may hold its pipe open: so often it is looked whether the
# child itself still lives.
_LOOK_S = 0.2
_READ_BYTES = 1 << 16
# No answer is as long as this.
_LINE_BYTES = 1 << 20
# The file in a scratch folder that is locked while it is in use.
LOCK = "in-use.lock"
_NEW_LOCK = "new.lock"
# How long a process that has closed its pipe may take to end.
_END_S = 5.0


class Child:
    """One process, started in its own session so that Ctrl-C reaches its parent alone.

    Args:
        command: the program; the descriptors of its commands and its answers are added.
        cwd: the folder it works in.
        env: its environment.
        log: the file its prints go to.
        limit_bytes: the limit it sets itself; only told about.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        limit_bytes: int | None = None,
    ) -> None:
        self._phase = "starting"
        self._step_bytes = 0
        self._log = log
        self._limit_bytes = limit_bytes
        self._kills = endings.memory_kills()
        self._rest = b""
        self._failure: TrialFailed | None = None
        held = hold(log.parent)
        theirs_in, self._commands = os.pipe()
        self._answers, theirs_out = os.pipe()
        try:
            with log.open("ab") as file:
                self._process = subprocess.Popen(
                    [*command, str(theirs_in), str(theirs_out)],
                    cwd=cwd,
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    pass_fds=(theirs_in, theirs_out),
                    start_new_session=True,
                )
        except BaseException:
            _close(self._commands, self._answers, held)
            raise
        finally:
            _close(theirs_in, theirs_out)
        self._holdings = Holdings(self._process.pid, limit_bytes)
        # Also when nobody closes it, and at the end of the interpreter.
        self._end = weakref.finalize(
            self, _end, os.getpid(), self._process, self._commands, self._answers, held
        )

    @property
    def pid(self) -> int:
        """The number of the process, which is that of its group."""
        return self._process.pid

    def send(self, command: Mapping[str, Any]) -> None:  # Any: JSON
        """Give a command to a child; one that has ended is found out by `receive`."""
        if self._failure is not None:
            return
        self._holdings.look()
        with suppress(BrokenPipeError):
            os.write(self._commands, json.dumps(command).encode() + b"\n")

    def receive(self, patience_s: float) -> dict[str, Any]:
        """Wait for an answer.

        Args:
            patience_s: without a sign of life for so long, the child has hung.

        Raises:
            TrialFailed: it ended, hung, wrote something else, or answered that it failed.
        """
        while True:
            message = self._message(patience_s)
            kind = message["kind"]
            if kind == "failed":
                failure = Failure(message["failure"])
                raise self._failed(TrialFailed(failure, str(message["text"])))
            if kind != "alive":
                return message
            self._phase = str(message["phase"])
            self._step_bytes = int(message.get("step_bytes", self._step_bytes))

    def hold(self) -> None:
        """Stop the child with all its threads, so that it takes nothing from others."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let the child run after `hold`."""
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """End the child and everything it started in its group; any number of times."""
        self._failed(TrialFailed(Failure.CRASHED, "the trial was closed."))

    def _message(self, patience_s: float) -> dict[str, Any]:
        if self._failure is not None:
            raise self._failure
        line = self._line(patience_s)
        try:
            message = json.loads(line)
            if not isinstance(message["kind"], str):
                raise TypeError
            return dict(message)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._failed(endings.garbled(line, self._known())) from None

    def _line(self, patience_s: float) -> bytes:
        until_s = time.monotonic() + patience_s
        while b"\n" not in self._rest:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise self._failed(endings.hung(patience_s, self._known()))
            if len(self._rest) > _LINE_BYTES:
                raise self._failed(endings.garbled(self._rest, self._known()))
            self._read(min(left_s, _LOOK_S))
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _read(self, wait_s: float) -> None:
        has_ended = self._process.poll() is not None
        if not has_ended:
            self._holdings.look()
        if select.select([self._answers], [], [], 0 if has_ended else wait_s)[0]:
            piece = os.read(self._answers, _READ_BYTES)
            self._rest += piece
            if piece:
                return
            has_ended = True
        if has_ended:
            raise self._failed(endings.ended(self._returncode(), self._known()))

    def _returncode(self) -> int:
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            raise self._failed(endings.hung(_END_S, self._known())) from None

    def _known(self) -> Circumstances:
        return Circumstances(
            self._phase,
            self._log,
            self._limit_bytes,
            self._kills,
            held=self._holdings.held,
            step_bytes=self._step_bytes,
        )

    def _failed(self, failed: TrialFailed) -> TrialFailed:
        """End the child; the first failure is the one that is told from then on."""
        self._failure = self._failure or failed
        self._end()
        return self._failure

    def _signal(self, number: signal.Signals) -> None:
        if self._failure is None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def hold(folder: Path) -> int:
    """Mark a scratch folder as one that is in use, for as long as this process lives.

    Returns:
        A descriptor; closed, it lets the folder go.
    """
    descriptor = os.open(folder / _NEW_LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    with suppress(OSError):  # on a disk without locks the folder gets no mark, and stays
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Named only now, so that nobody finds the mark of a folder in use unlocked.
        os.rename(folder / _NEW_LOCK, folder / LOCK)
    return descriptor


def _end(owner: int, process: subprocess.Popen[bytes], *descriptors: int) -> None:
    if os.getpid() != owner:
        return  # a fork of the process that started it
    # The group outlives its first process where that has started others.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # one that waits for a broken disk
        process.wait(_END_S)
    _close(*descriptors)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
