"""How a child that answered nothing more came to its end, in words."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from quickfit.tuning.trials.answers import Failure, TrialFailed
from quickfit.tuning.trials.holdings import Held
from quickfit.units import seconds, size

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
class Circumstances:
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
    held: Held = field(default_factory=Held)
    step_bytes: int = 0


def ended(returncode: int, known: Circumstances) -> TrialFailed:
    """Return what the end of a child means."""
    log = last_lines(known.log)
    number = returncode - 128 if returncode > 128 else -returncode  # a shell's way to tell it
    if returncode < 0 or returncode == 128 + signal.SIGKILL:
        failure, text = _by_signal(number, known)
    else:
        failure = Failure.CRASHED
        text = f"the process ended by itself with exit code {returncode}"
    return TrialFailed(failure, _told(text, known, log))


def hung(patience_s: float, known: Circumstances) -> TrialFailed:
    """Return what it means that a child gave no sign of life."""
    text = f"the process gave no sign of life for {seconds(patience_s)}, and was ended"
    return TrialFailed(Failure.HUNG, _told(text, known, last_lines(known.log)))


def garbled(line: bytes, known: Circumstances) -> TrialFailed:
    """Return what it means that something else than an answer came."""
    shown = line[:100].decode(errors="replace")
    text = f"the process wrote {shown!r} in place of an answer"
    return TrialFailed(Failure.CRASHED, _told(text, known, last_lines(known.log)))


def _by_signal(number: int, known: Circumstances) -> tuple[Failure, str]:
    name = _name(number)
    if number == signal.SIGKILL:
        return _by_kill(known)
    # Native stacks may follow the words.
    written = _tail(known.log).lower()
    if any(word in written for word in _MEMORY_WORDS):
        return Failure.OUT_OF_MEMORY, f"memory ran out: the process was ended by {name}"
    if known.limit_bytes is not None and number in _SIGNALS_OF_MEMORY:
        return _under_limit(name, known.limit_bytes, known)
    return Failure.CRASHED, f"the process was ended by {name}"


def _under_limit(name: str, limit_bytes: int, known: Circumstances) -> tuple[Failure, str]:
    """Return what a signal means that told nothing of memory, where memory is limited.

    oneDNN does not look whether it got what it asked for: it ends by SIGSEGV without a word, and
    long before the limit where a single tensor is larger than all that is left.
    """
    held, limit = known.held, size(limit_bytes)
    text = f"the process was ended by {name}"
    had = f"it held {size(held.peak_bytes)}; the limit is {limit} beyond Python and TensorFlow"
    if held.limit_share >= _NEAR_LIMIT:
        return Failure.OUT_OF_MEMORY, f"{text} near its memory limit: {had}"
    if known.step_bytes >= _NEAR_LIMIT * limit_bytes:
        needed = f"the outputs of its layers alone need {size(known.step_bytes)} in a step"
        return Failure.OUT_OF_MEMORY, f"{text}: {needed}, and {limit} is its limit"
    if max(held.limit_share, known.step_bytes / limit_bytes) >= _TOWARDS_LIMIT:
        return Failure.CRASHED, f"{text}; its memory limit may be the reason: {had}"
    return Failure.CRASHED, f"{text}; {had}" if held.peak_bytes else text


def _by_kill(known: Circumstances) -> tuple[Failure, str]:
    kills = memory_kills()
    if kills is None or known.kills is None:
        return (
            Failure.OUT_OF_MEMORY,
            "the process was ended by SIGKILL, which is how the kernel ends one that takes too "
            "much memory (this system does not count them: it may have been somebody else)",
        )
    if kills > known.kills:
        return Failure.OUT_OF_MEMORY, "the kernel ended the process because memory ran out"
    return (
        Failure.CRASHED,
        "the process was ended by SIGKILL, and the kernel has ended none for memory since it "
        "started: it was somebody else, for example a batch system",
    )


def memory_kills() -> int | None:
    """Return how many processes the kernel has ended for memory, or None if it does not say."""
    counts = [_counted(Path("/proc/vmstat"), "oom_kill")]
    counts += [_counted(folder / "memory.events", "oom_kill") for folder in _own_groups()]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _own_groups() -> list[Path]:
    root = Path("/sys/fs/cgroup")
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return [root / line[3:].lstrip("/")]
    return []


def _counted(file: Path, name: str) -> int | None:
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return None


def _name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def last_lines(log: Path) -> str:
    """Return the end of what a child wrote, without progress bars."""
    lines = _tail(log).splitlines()
    kept = [line[:_LINE_CHARS] for line in lines if line.strip() and not _NOISE.search(line)]
    return "\n".join(kept[-_TAIL_LINES:])


def _tail(log: Path) -> str:
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
        return file.read().decode(errors="replace")
    return ""


def _told(text: str, known: Circumstances, log: str) -> str:
    sentence = f"while {known.phase}, {text}."
    return f"{sentence}\nIt wrote last:\n{log}" if log else sentence
