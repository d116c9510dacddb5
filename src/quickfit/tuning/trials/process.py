"""A child process behind two pipes, and what its end means; its parent goes on in any case."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quickfit.tuning.trials.resources import HeldMemory, MemoryWatch
from quickfit.tuning.trials.settings import TrialFailed, TrialFailure
from quickfit.units import seconds, size

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


class ChildProcess:
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
        self._kills = memory_kills()
        self._rest = b""
        self._failure: TrialFailed | None = None
        held = hold_folder(log.parent)
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
            _close_pipes(self._commands, self._answers, held)
            raise
        finally:
            _close_pipes(theirs_in, theirs_out)
        self._holdings = MemoryWatch(self._process.pid, limit_bytes)
        # Also when nobody closes it, and at the end of the interpreter.
        self._end = weakref.finalize(
            self, _end_process, os.getpid(), self._process, self._commands, self._answers, held
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
                failure = TrialFailure(message["failure"])
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
        self._failed(TrialFailed(TrialFailure.CRASHED, "the trial was closed."))

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
            raise self._failed(explain_garbled(line, self._known())) from None

    def _line(self, patience_s: float) -> bytes:
        until_s = time.monotonic() + patience_s
        while b"\n" not in self._rest:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise self._failed(explain_hang(patience_s, self._known()))
            if len(self._rest) > _LINE_BYTES:
                raise self._failed(explain_garbled(self._rest, self._known()))
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
            raise self._failed(explain_end(self._returncode(), self._known()))

    def _returncode(self) -> int:
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            raise self._failed(explain_hang(_END_S, self._known())) from None

    def _known(self) -> ChildCircumstances:
        return ChildCircumstances(
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


def hold_folder(folder: Path) -> int:
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


def _end_process(owner: int, process: subprocess.Popen[bytes], *descriptors: int) -> None:
    if os.getpid() != owner:
        return  # a fork of the process that started it
    # The group outlives its first process where that has started others.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # one that waits for a broken disk
        process.wait(_END_S)
    _close_pipes(*descriptors)


def _close_pipes(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


# What libraries write when an allocation fails, just before they end the process.
_MEMORY_WORDS = (
    "bad_alloc",
    "bad_array_new_length",
    "out of memory",
    "cannot allocate memory",
    "failed to allocate",
    "resource exhausted",
    "resource_exhausted",
    "memoryerror",
)
# With a limit on memory these are how libraries fail that do not look at what they were given,
# but also how programs fail that have an error.
_SIGNALS_OF_MEMORY = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)
# From this share of the limit on, one of these signals is taken for a lack of memory; from the
# lower one on, that is possible: a single large piece may have been refused.
_NEAR_LIMIT, _TOWARDS_LIMIT = 0.7, 0.25
# Progress bars, native stacks, and what TensorFlow tells of itself at the start.
_NOISE = re.compile(r"━|^Epoch \d+/\d+$|^I0000 |^WARNING: All log messages before absl|^ +@ +0x")
_TAIL_LINES = 12
_TAIL_BYTES = 8192
_LINE_CHARS = 300


@dataclass(frozen=True)
class ChildCircumstances:
    """What is known about a child that ended.

    Args:
        phase: what it was doing.
        log: the file with everything it wrote.
        limit_bytes: the limit on its memory, if any.
        kills: what `memory_kills` returned before it started.
        held: the most memory that was seen of it.
        step_bytes: what a step of its model holds at least; 0 where that is not known.
    """

    phase: str
    log: Path
    limit_bytes: int | None
    kills: int | None
    held: HeldMemory = field(default_factory=HeldMemory)
    step_bytes: int = 0


def explain_end(returncode: int, known: ChildCircumstances) -> TrialFailed:
    """Return what the end of a child means."""
    log = last_lines(known.log)
    number = returncode - 128 if returncode > 128 else -returncode  # a shell's way to tell it
    if returncode < 0 or returncode == 128 + signal.SIGKILL:
        failure, text = _explain_signal(number, known)
    else:
        failure = TrialFailure.CRASHED
        text = f"the process ended by itself with exit code {returncode}"
    return TrialFailed(failure, _explain_failure(text, known, log))


def explain_hang(patience_s: float, known: ChildCircumstances) -> TrialFailed:
    """Return what it means that a child gave no sign of life."""
    text = f"the process gave no sign of life for {seconds(patience_s)}, and was ended"
    return TrialFailed(TrialFailure.HUNG, _explain_failure(text, known, last_lines(known.log)))


def explain_garbled(line: bytes, known: ChildCircumstances) -> TrialFailed:
    """Return what it means that something else than an answer came."""
    shown = line[:100].decode(errors="replace")
    text = f"the process wrote {shown!r} in place of an answer"
    return TrialFailed(TrialFailure.CRASHED, _explain_failure(text, known, last_lines(known.log)))


def _explain_signal(number: int, known: ChildCircumstances) -> tuple[TrialFailure, str]:
    name = _signal_name(number)
    if number == signal.SIGKILL:
        return _explain_kill(known)
    # Native stacks may follow the words.
    written = _log_tail(known.log).lower()
    if any(word in written for word in _MEMORY_WORDS):
        return TrialFailure.OUT_OF_MEMORY, f"memory ran out: the process was ended by {name}"
    if known.limit_bytes is not None and number in _SIGNALS_OF_MEMORY:
        return _under_limit(name, known.limit_bytes, known)
    return TrialFailure.CRASHED, f"the process was ended by {name}"


def _under_limit(
    name: str, limit_bytes: int, known: ChildCircumstances
) -> tuple[TrialFailure, str]:
    """Return what a signal means that told nothing of memory, where memory is limited.

    oneDNN does not look whether it got what it asked for: it ends by SIGSEGV without a word, and
    long before the limit where a single tensor is larger than all that is left.
    """
    held, limit = known.held, size(limit_bytes)
    text = f"the process was ended by {name}"
    had = f"it held {size(held.peak_bytes)}; the limit is {limit} beyond Python and TensorFlow"
    if held.limit_share >= _NEAR_LIMIT:
        return TrialFailure.OUT_OF_MEMORY, f"{text} near its memory limit: {had}"
    if known.step_bytes >= _NEAR_LIMIT * limit_bytes:
        needed = f"the outputs of its layers alone need {size(known.step_bytes)} in a step"
        return TrialFailure.OUT_OF_MEMORY, f"{text}: {needed}, and {limit} is its limit"
    if max(held.limit_share, known.step_bytes / limit_bytes) >= _TOWARDS_LIMIT:
        return TrialFailure.CRASHED, f"{text}; its memory limit may be the reason: {had}"
    return TrialFailure.CRASHED, f"{text}; {had}" if held.peak_bytes else text


def _explain_kill(known: ChildCircumstances) -> tuple[TrialFailure, str]:
    kills = memory_kills()
    if kills is None or known.kills is None:
        return (
            TrialFailure.OUT_OF_MEMORY,
            "the process was ended by SIGKILL, which is how the kernel ends one that takes too "
            "much memory (this system does not count them: it may have been somebody else)",
        )
    if kills > known.kills:
        return TrialFailure.OUT_OF_MEMORY, "the kernel ended the process because memory ran out"
    return (
        TrialFailure.CRASHED,
        "the process was ended by SIGKILL, and the kernel has ended none for memory since it "
        "started: it was somebody else, for example a batch system",
    )


def memory_kills() -> int | None:
    """Return how many processes the kernel has ended for memory, or None if it does not say."""
    counts = [_read_counter(Path("/proc/vmstat"), "oom_kill")]
    counts += [_read_counter(folder / "memory.events", "oom_kill") for folder in _own_groups()]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _own_groups() -> list[Path]:
    root = Path("/sys/fs/cgroup")
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return [root / line[3:].lstrip("/")]
    return []


def _read_counter(file: Path, name: str) -> int | None:
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return None


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def last_lines(log: Path) -> str:
    """Return the end of what a child wrote, without progress bars."""
    lines = _log_tail(log).splitlines()
    kept = [line[:_LINE_CHARS] for line in lines if line.strip() and not _NOISE.search(line)]
    return "\n".join(kept[-_TAIL_LINES:])


def _log_tail(log: Path) -> str:
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
        return file.read().decode(errors="replace")
    return ""


def _explain_failure(text: str, known: ChildCircumstances, log: str) -> str:
    sentence = f"while {known.phase}, {text}."
    return f"{sentence}\nIt wrote last:\n{log}" if log else sentence
