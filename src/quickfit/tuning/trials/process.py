"""The process of a trial, and what its end means: memory, a crash, or a hang."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quickfit.lab.child import Child, ChildError, ChildOptions, read_tail
from quickfit.lab.child_side import signal_name
from quickfit.tuning.trials.resources import HeldMemory, MemoryWatch
from quickfit.tuning.trials.settings import TrialFailed, TrialFailure
from quickfit.units import seconds, size

# The file in a scratch folder that is locked while it is in use.
LOCK = "in-use.lock"
_NEW_LOCK = "new.lock"


class TrialChild:
    """The process of a trial, and how it failed, once it has.

    Args:
        command: the program; the descriptors of its commands and its answers are added.
        cwd: the folder it works in.
        env: its environment.
        log: the file its prints go to.
        limit_bytes: the limit it sets itself, to explain an end by it.
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
        self._log = log
        self._limit_bytes = limit_bytes
        self._kills = memory_kills()
        self._failure: TrialFailed | None = None
        held = hold_folder(log.parent)
        try:
            self._child = Child(command, ChildOptions(cwd=cwd, env=env, log=log, talks=True))
        except BaseException:
            os.close(held)
            raise
        self._memory = MemoryWatch(self._child.pid, limit_bytes)
        self._release = weakref.finalize(self, os.close, held)

    @property
    def pid(self) -> int:
        """The number of the process, which is that of its group."""
        return self._child.pid

    def send(self, command: Mapping[str, Any]) -> None:  # Any: JSON
        """Give a command to a child; one that has ended is found out by `receive`."""
        if self._failure is None:
            self._memory.look()
            self._child.send(command)

    def receive(self, patience_s: float) -> dict[str, Any]:
        """Wait for an answer.

        Args:
            patience_s: without a sign of life for so long, the child has hung.

        Raises:
            TrialFailed: it ended, hung, wrote something else, or answered that it failed.
        """
        if self._failure is not None:
            raise self._failure
        try:
            message = self._child.receive(patience_s, look=self._memory.look)
        except ChildError as error:
            raise self._fail(self._explain(error, patience_s)) from None
        if message["kind"] == "failed":
            raise self._fail(TrialFailed(TrialFailure(message["failure"]), str(message["text"])))
        return message

    def hold(self) -> None:
        """Stop the child with all its threads, so that it takes nothing from others."""
        if self._failure is None:
            self._child.pause()

    def go_on(self) -> None:
        """Let the child run after `hold`."""
        if self._failure is None:
            self._child.resume()

    def end(self) -> None:
        """End the child and everything it started in its group; any number of times."""
        self._fail(TrialFailed(TrialFailure.CRASHED, "the trial was closed."))

    def _explain(self, error: ChildError, patience_s: float) -> TrialFailed:
        known = ChildCircumstances(
            self._child.phase,
            self._log,
            self._limit_bytes,
            self._kills,
            held=self._memory.held,
            step_bytes=int(self._child.facts.get("step_bytes", 0)),
        )
        if error.kind == "silent":
            return explain_hang(patience_s, known)
        code = self._child.poll()
        if error.kind == "ended" and code is not None:
            return explain_end(code, known)
        return TrialFailed(TrialFailure.CRASHED, _explain_failure(f"the process {error}", known))

    def _fail(self, failed: TrialFailed) -> TrialFailed:
        """End the child; the first failure is the one that counts from then on."""
        self._failure = self._failure or failed
        self._child.end()
        self._release()
        return self._failure


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
    number = returncode - 128 if returncode > 128 else -returncode  # a shell's way to tell it
    if returncode < 0 or returncode == 128 + signal.SIGKILL:
        failure, text = _explain_signal(number, known)
    else:
        failure = TrialFailure.CRASHED
        text = f"the process ended by itself with exit code {returncode}"
    return TrialFailed(failure, _explain_failure(text, known))


def explain_hang(patience_s: float, known: ChildCircumstances) -> TrialFailed:
    """Return what it means that a child gave no sign of life."""
    text = f"the process gave no sign of life for {seconds(patience_s)}, and was ended"
    return TrialFailed(TrialFailure.HUNG, _explain_failure(text, known))


def _explain_signal(number: int, known: ChildCircumstances) -> tuple[TrialFailure, str]:
    name = signal_name(number)
    if number == signal.SIGKILL:
        return _explain_kill(known)
    # Native stacks may follow the words.
    written = read_tail(known.log, _TAIL_BYTES).lower()
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


def last_lines(log: Path) -> str:
    """Return the end of what a child wrote, without progress bars."""
    lines = read_tail(log, _TAIL_BYTES).splitlines()
    kept = [line[:_LINE_CHARS] for line in lines if line.strip() and not _NOISE.search(line)]
    return "\n".join(kept[-_TAIL_LINES:])


def _explain_failure(text: str, known: ChildCircumstances) -> str:
    log = last_lines(known.log)
    sentence = f"while {known.phase}, {text}."
    return f"{sentence}\nIt wrote last:\n{log}" if log else sentence
