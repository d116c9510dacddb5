"""A child process as its parent handles it: started, talked to, paused, ended, with all it left.

    with Child(command, ChildOptions(log=folder / "log.txt", talks=True)) as child:
        child.send({"do": "run"})
        answer = child.receive(patience_s=60.0)

A child runs in a session of its own unless asked otherwise: Ctrl-C reaches the parent alone, and
pausing or ending it takes the processes along that it started. What a child does for itself
(ending with its parent, a memory limit) is in `child_side`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from quickfit import trust
from quickfit.lab.child_side import signal_name, status_bytes

DEVNULL = subprocess.DEVNULL
# The descriptor of our own stderr, for output of a child that is not our answer.
STDERR = 2
# How long a process may take to go after SIGKILL: one that waits for a broken disk takes longer.
GONE_S = 5.0
# A process that the child started may hold its pipe open: this often the child itself is checked.
_LOOK_S = 0.2
_READ_BYTES = 1 << 16
# No answer is as long as this.
_LINE_BYTES = 1 << 20
# What is read of the end of a log.
TAIL_BYTES = 1_000_000
_HAS_WAITID = hasattr(os, "waitid")


class ChildError(Exception):
    """A child ended, hung, or wrote something else than an answer; never reaches a user.

    Args:
        kind: `ended`, `silent` or `garbled`.
        text: what happened, in a few words.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


@dataclass(frozen=True)
class ChildOptions:
    """How a child is started.

    Args:
        cwd: the folder it works in; None for ours.
        env: its whole environment; None for ours.
        stdout: a file to append to, a descriptor, `DEVNULL`, or None for ours.
        stderr: the same.
        log: a file for both.
        pass_fds: descriptors that it inherits under their numbers.
        own_session: in a session and group of its own; else it stays in our group, where Ctrl-Z
            pauses it with us, and it starts with Ctrl-C blocked.
        at_exit: it is ended at the end of the interpreter; False where its owner does that.
        talks: it gets the descriptors of two pipes as its last arguments, for `send` and `receive`.
    """

    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    stdout: Path | int | None = None
    stderr: Path | int | None = None
    log: Path | None = None
    pass_fds: tuple[int, ...] = ()
    own_session: bool = True
    at_exit: bool = True
    talks: bool = False


class _Process(Protocol):
    """What is used of `subprocess.Popen`."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class Child:
    """One child process.

    It is ended when the `with` block is left, when it is collected, and at the end of the
    interpreter; never by a fork of the process that started it.

    Args:
        command: the program and its arguments.
        options: how it is started.
    """

    def __init__(self, command: Sequence[str], options: ChildOptions | None = None) -> None:
        options = options or ChildOptions()
        pipes = _Pipes() if options.talks else None
        try:
            process = _popen(command, options, pipes)
        except BaseException:
            if pipes is not None:
                pipes.close()
            raise
        finally:
            if pipes is not None:
                pipes.close_theirs()
        self._adopt(process, options, pipes)

    def _adopt(self, process: _Process, options: ChildOptions, pipes: _Pipes | None) -> None:
        self._process = process
        self._has_group = options.own_session
        self._pipes = pipes
        self._rest = b""
        self._code: int | None = None
        # The last thing it said it was doing, and what it said with it.
        self.phase = "starting"
        self.facts: dict[str, Any] = {}  # Any: JSON
        self.log = options.log or (options.stderr if isinstance(options.stderr, Path) else None)
        self._finish = weakref.finalize(
            self, _finish, os.getpid(), process, pipes, has_group=options.own_session
        )
        self._finish.atexit = options.at_exit

    @classmethod
    def fork(cls, run: Callable[[], None], *, own_session: bool = False) -> Child:
        """Start a fork of this process that calls a function and ends.

        Everything is loaded already in it. Only for a process without other threads.
        """
        child = cls.__new__(cls)
        child._adopt(
            _ForkedProcess(run, own_session=own_session),
            ChildOptions(own_session=own_session),
            None,
        )
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The number of the process; with a session of its own, that of its group too."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Tell whether the process is over; what it started may live on until `end`."""
        return self.poll() is not None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self._code is None:
            # Not reaped yet: until then, its number cannot be that of another group.
            self._code = _code_of(self._process) if self._has_group else self._process.poll()
        return self._code

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until it ends by itself; return its exit code, or None after so long."""
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while (code := self.poll()) is None:
            if until_s is not None and time.monotonic() >= until_s:
                return None
            time.sleep(0.01)
        return code

    def pause(self) -> None:
        """Stop it where it is, with all of its group."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Send a signal to its group, or to it alone where it is in ours."""
        if self._finish.alive and (self._code is None or self._has_group):
            _send(self._process.pid, number, to_group=self._has_group)

    def end(self, *, grace_s: float = 0.0) -> int | None:
        """End it with everything it left; return its exit code. Any number of times.

        Args:
            grace_s: how long it may take to end by itself after SIGTERM, before SIGKILL.
        """
        if grace_s > 0 and not self.has_ended:
            # The process alone: it ends what it has started in its own way.
            _send(self.pid, signal.SIGTERM, to_group=False)
            self.resume()  # a stopped one hears nothing else
            self.wait(grace_s)
        self._finish()
        if self._code is None:
            self._code = self._process.poll()
        return self._code

    def memory_bytes(self) -> int:
        """Return the memory that it and those it started hold now."""
        return family_memory(self.pid)

    def peak_bytes(self) -> int:
        """Return the most memory that it held alone; 0 where the system does not tell."""
        return status_bytes("VmHWM", self.pid)

    def send(self, message: Mapping[str, Any]) -> None:  # Any: JSON
        """Give a command to it; whether it is gone is found out by `receive`."""
        assert self._pipes is not None
        with contextlib.suppress(BrokenPipeError, OSError):
            os.write(self._pipes.commands, json.dumps(message).encode() + b"\n")

    def receive(
        self, patience_s: float, *, look: Callable[[], None] = lambda: None
    ) -> dict[str, Any]:  # Any: JSON
        """Wait for an answer.

        Args:
            patience_s: without a sign of life for so long, it has hung.
            look: called every moment while it is waited for and lives.

        Raises:
            ChildError: it ended, gave no sign of life, or wrote something else. It is ended then.
        """
        try:
            while True:
                message = self._message(patience_s, look)
                if message["kind"] != "alive":
                    return message
                self.phase = str(message.get("phase", self.phase))
                self.facts |= {k: v for k, v in message.items() if k not in ("kind", "phase")}
        except ChildError:
            self.end()
            raise

    def _message(self, patience_s: float, look: Callable[[], None]) -> dict[str, Any]:
        line = self._line(patience_s, look)
        try:
            message = json.loads(line)
            if not isinstance(message["kind"], str):
                raise TypeError
            return dict(message)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise _garbled(line) from None

    def _line(self, patience_s: float, look: Callable[[], None]) -> bytes:
        until_s = time.monotonic() + patience_s
        while b"\n" not in self._rest:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise ChildError("silent", f"gave no sign of life for {patience_s:.0f} s")
            if len(self._rest) > _LINE_BYTES:
                raise _garbled(self._rest)
            if not self.has_ended:
                look()
            self._read(min(left_s, _LOOK_S))
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _read(self, wait_s: float) -> None:
        assert self._pipes is not None
        if not self._finish.alive:
            raise ChildError("ended", "was ended")
        has_ended = self.has_ended
        if select.select([self._pipes.answers], [], [], 0 if has_ended else wait_s)[0]:
            piece = os.read(self._pipes.answers, _READ_BYTES)
            self._rest += piece
            if piece:
                return
            has_ended = True
        if has_ended:
            code = self.wait(GONE_S)
            raise ChildError("ended", describe_end(code))


def describe_end(code: int | None) -> str:
    """Return how a process ended, in words, by its exit code."""
    if code is None:
        return "closed its pipe and did not end"
    if code < 0:
        return f"was ended by {signal_name(-code)}"
    return f"ended with exit code {code}"


def python_interpreter() -> list[str]:
    """Return the command of a Python like this one: its flags, and no folder of a script first."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-P"]


def python_command(program: str, *arguments: str) -> list[str]:
    """Return the command of a Python like this one that runs a program text.

    Modules are looked for where this process finds them, but last: a user's `queue.py` hides
    nothing. Not `-m`: the modules may be on a path that only this process knows.
    """
    import quickfit

    paths = [str(Path(quickfit.__file__).parent.parent), *filter(None, map(str, sys.path))]
    find = f"import sys; sys.path += [p for p in {paths!r} if p not in sys.path]; "
    return [*python_interpreter(), "-c", find + program, *arguments]


class Finished(NamedTuple):
    """A short program that has ended: its exit code, and what it printed."""

    code: int
    stdout: str
    stderr: str


def run_to_end(command: Sequence[str], *, timeout_s: float) -> Finished:
    """Run a short program to its end.

    Raises:
        ChildError: it took longer, and was ended.
        OSError: it cannot be started.
    """
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise ChildError("silent", f"did not end within {timeout_s:.0f} s") from None
    return Finished(
        done.returncode, *(t.decode(errors="replace") for t in (done.stdout, done.stderr))
    )


def kill_group(pid: int) -> None:
    """Kill a child of its own session, with its group; from any thread. Its owner still ends it."""
    _send(pid, signal.SIGKILL, to_group=True)


def read_tail(log: Path, most_bytes: int = TAIL_BYTES) -> str:
    """Return the end of what a child wrote; nothing where it is no plain file."""
    try:
        data = trust.read_regular(log, most_bytes, follow=False, tail=True)
    except OSError:
        return ""
    return data.decode(errors="replace").replace("\r\n", "\n")


def family_memory(pid: int) -> int:
    """Return the memory that a process and those it started hold."""
    import psutil

    total = 0
    for process in _family(pid):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def _family(pid: int) -> list[Any]:
    import psutil

    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


class _Pipes:
    """Two pipes: commands to the child, answers from it."""

    def __init__(self) -> None:
        self.theirs_in, self.commands = os.pipe()
        self.answers, self.theirs_out = os.pipe()

    def close_theirs(self) -> None:
        _close(self.theirs_in, self.theirs_out)
        self.theirs_in = self.theirs_out = -1

    def close(self) -> None:
        _close(self.commands, self.answers)
        self.commands = self.answers = -1


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)


def _popen(
    command: Sequence[str], options: ChildOptions, pipes: _Pipes | None
) -> subprocess.Popen[bytes]:
    ends = (pipes.theirs_in, pipes.theirs_out) if pipes is not None else ()
    with contextlib.ExitStack() as stack:
        out, err = (
            stack.enter_context(place.open("ab")) if isinstance(place, Path) else place
            for place in (options.log or options.stdout, options.log or options.stderr)
        )
        if not options.own_session:
            stack.enter_context(_interrupts_blocked())
        return subprocess.Popen(
            [*command, *map(str, ends)],
            cwd=options.cwd,
            env=None if options.env is None else dict(options.env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(*options.pass_fds, *ends),
            start_new_session=options.own_session,
        )


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let a process start with Ctrl-C blocked: it would end it with a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _ForkedProcess:
    """A fork of this process, handled like a `Popen`."""

    def __init__(self, run: Callable[[], None], *, own_session: bool) -> None:
        import multiprocessing

        def start() -> None:
            if own_session:
                os.setsid()
            run()

        # It closes what only the parent may write to, and ends without our `atexit`.
        self._process = multiprocessing.get_context("fork").Process(target=start, daemon=True)
        with contextlib.nullcontext() if own_session else _interrupts_blocked():
            self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("fork", timeout or 0.0)
        return code


def _code_of(process: _Process) -> int | None:
    """Return how a process ended without reaping it, or None while it runs."""
    if not _HAS_WAITID or isinstance(process, _ForkedProcess):
        return process.poll()
    try:
        seen = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # reaped already
        return process.poll()
    if seen is None:
        return None
    return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status


def _send(pid: int, number: int, *, to_group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        (os.killpg if to_group else os.kill)(pid, number)


def _finish(owner: int, process: _Process, pipes: _Pipes | None, *, has_group: bool) -> None:
    """End a process, its group, and what has left the group; reap it and close its pipes."""
    if os.getpid() != owner:
        return  # a fork of the process that started it
    import psutil

    family = _family(process.pid)[1:] if has_group else []
    # The group outlives its first process where that has started others.
    if has_group or process.poll() is None:
        _send(process.pid, signal.SIGKILL, to_group=has_group)
    for other in family:
        with contextlib.suppress(psutil.Error):  # gone
            other.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GONE_S)
    if pipes is not None:
        pipes.close()


def _garbled(line: bytes) -> ChildError:
    shown = line[:100].decode(errors="replace")
    return ChildError("garbled", f"wrote {shown!r} in place of an answer")
