"""The script's process as the parent handles it: started, reaped, and ended like."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from typing import NamedTuple, NoReturn

from quickfit.lab.child_side import signal_name
from quickfit.launch.descendants import prctl

_PR_SET_DUMPABLE = 4


class Ending(NamedTuple):
    """How a process ended: by an exit code, or by a signal."""

    exit_code: int | None
    signal: int | None = None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"was ended by {signal_name(self.signal)}"
        return f"ended with exit code {self.exit_code}"


class ScriptProcess:
    """A started script, in our process group and session, with our stdin, stdout and stderr.

    Args:
        command: the command line.
        env: its environment.
        mask: the signals it starts out blocking: those that we did.
        files: what it gets as stdout or stderr instead of ours, by number.
    """

    def __init__(
        self,
        command: list[str],
        env: dict[str, str],
        mask: Collection[int],
        files: Mapping[int, int] | None = None,
    ) -> None:
        self._popen: subprocess.Popen[bytes] | None = None
        self._ending: Ending | None = None
        # When it ended, whatever we were at then; None while it runs.
        self.ended_at: float | None = None
        if hasattr(os, "posix_spawn"):
            # Unlike Popen it passes on inherited files and takes a signal mask. Python ignores
            # these two signals for itself.
            own = (signal.SIGPIPE, signal.SIGXFSZ)
            actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in (files or {}).items()]
            self.pid = os.posix_spawn(
                command[0], command, env, file_actions=actions, setsigmask=mask, setsigdef=own
            )
            threading.Thread(target=self._note_end, daemon=True).start()
        else:
            self._popen = subprocess.Popen(command, env=env)
            self.pid = self._popen.pid

    def _note_end(self) -> None:
        """Wait for the end of the script on a thread of its own, without reaping it."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        with contextlib.suppress(ChildProcessError):  # it was reaped at once
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.ended_at = time.time()

    def poll(self) -> Ending | None:
        """Return how the script ended, or None; reap orphans that became our children."""
        if self._popen is not None:
            code = self._popen.poll()
            return None if code is None else Ending(code)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self._ending
            if pid == 0:
                return self._ending
            if pid == self.pid:
                self._ending = _ending_of(status)

    def send(self, number: int) -> None:
        """Send a signal to the script, unless it has ended."""
        if self._popen is not None:
            self._popen.send_signal(number)
        elif self._ending is None:  # until we reap it, its id cannot be another process's
            os.kill(self.pid, number)


def _ending_of(status: int) -> Ending:
    code = os.waitstatus_to_exitcode(status)
    return Ending(code) if code >= 0 else Ending(None, -code)


def end_as(ending: Ending) -> NoReturn:
    """End this process the way the script ended."""
    if ending.signal is not None:
        _end_by(ending.signal)
    sys.exit(ending.exit_code if ending.exit_code is not None else 1)


def _dump_no_core() -> None:
    """The script's core dump is the one worth having; ours would replace it."""
    import resource  # not on Windows, where no signal ends a process

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    prctl(_PR_SET_DUMPABLE, 0)  # where cores are piped to a program, the limit is not asked


def _end_by(number: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    _dump_no_core()
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    sys.exit(128 + number)  # the default of this signal is not to end a process
