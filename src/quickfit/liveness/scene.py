"""A scene: everything that is known of a run at one moment, over its last few seconds.

It is made from a growing recording and from the system's own tables, or by looking at a process
from outside. What could not be seen is None or empty, never zero.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from quickfit.findings import Location
from quickfit.signals import stacks


@dataclass(frozen=True)
class Frame(stacks.Frame):
    """One function of a stack and the line it is at."""

    def is_in(self, *ends: str) -> bool:
        """Tell whether its file's path ends in one of these."""
        return self.file.replace(os.sep, "/").endswith(ends)


@dataclass(frozen=True)
class Thread:
    """A thread of the script.

    Args:
        role: `main`, `input` (it makes batches), `step` (the graph of the step calls it) or
            `other` (the user's own).
        frames: the stack seen most often, innermost frame first.
        share: of the looks in which it was this very stack; 1.0 for a thread that stands still.
        lines: how often each innermost line of the user's was seen, the most frequent first.
        cores: of a core that it used; None where threads could not be told apart.
        waits_in: the system call or kernel function it sleeps in; empty while it runs.
        waits_for: the file, pipe or socket that call is about; empty where it has none.
        wakes_per_s: how often it was given a core; a thread that stands still never is.
    """

    role: str
    frames: tuple[Frame, ...]
    share: float = 1.0
    lines: tuple[tuple[str, int, int], ...] = ()
    cores: float | None = None
    waits_in: str = ""
    waits_for: str = ""
    wakes_per_s: float | None = None

    @property
    def user_frame(self) -> Frame | None:
        """The innermost frame of the user's."""
        return next((frame for frame in self.frames if frame.is_user), None)

    @property
    def inner(self) -> tuple[Frame, ...]:
        """The frames of libraries that the innermost line of the user's called."""
        frame = self.user_frame
        return self.frames[: self.frames.index(frame)] if frame is not None else self.frames

    def is_inside(self, function: str, *files: str) -> bool:
        """Tell whether a function, of one of these files, is on the stack."""
        return any(
            frame.function == function and (not files or frame.is_in(*files))
            for frame in self.frames
        )


@dataclass(frozen=True)
class Child:
    """A process that the script started.

    Args:
        is_fork: it was forked from the script, as opposed to a new program.
        runs_script: its stack goes through the script's own top level: it runs it again.
        frames: the stack of its main thread, where it could be seen.
    """

    pid: int
    name: str
    age_s: float
    cores: float
    state: str
    waits_in: str = ""
    is_fork: bool = False
    runs_script: bool = False
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Stage:
    """One stage of a tf.data pipeline, as it runs now.

    Args:
        per_s: elements it gave per second, lately.
        size: what it holds when it is full, or the elements of one batch; None without a size.
        cardinality: elements it will give: -1 endless, -2 unknown; None where it was not asked.
    """

    kind: str
    elements: int
    per_s: float
    buffered: int = 0
    buffered_per_s: float = 0.0
    buffered_bytes: int = 0
    size: int | None = None
    cardinality: int | None = None
    location: Location | None = None
    # What is known of it, such as the file of a cache, hence Any.
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Raised:
    """Exceptions that were raised and caught on a thread during a short look at it.

    Args:
        place: the user's line they went through first, from the inside.
        caught: the line they were caught at.
    """

    name: str
    message: str
    place: Location | None
    caught: Location | None
    count: int
    window_s: float


@dataclass(frozen=True)
class Tracing:
    """A function of TensorFlow's that is being traced: its graph grows."""

    name: str
    place: Location | None
    since_s: float
    operations: int
    per_s: float


@dataclass(frozen=True)
class Loop:
    """The loop that runs: a call of `fit` or a loop of the script's own.

    Args:
        phase: `train` or `validation`.
        lasted_s: how long the epoch, or the validation, has lasted.
        per_s: how many turns it took a second, lately.
        epoch_steps: the steps since its epoch, or its run through a dataset, began.
    """

    kind: str
    location: Location | None
    begin_s: float
    steps: int
    epoch: int
    phase: str
    lasted_s: float = 0.0
    per_s: float = 0.0
    epoch_steps: int = 0
    # As the recording has them, hence Any.
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_between_epochs(self) -> bool:
        """Whether the last step of an epoch of `fit` is done."""
        planned = self.facts.get("steps")
        return self.kind == "fit" and bool(planned) and self.epoch_steps == planned

    @property
    def trains(self) -> bool:
        """Whether its turns are training steps."""
        return self.facts.get("trains") is not False


@dataclass(frozen=True)
class Input:
    """A Python generator or PyDataset that feeds a loop; a busy one makes a batch now."""

    kind: str
    name: str
    location: Location | None
    workers: int
    batches: int
    since_batch_s: float
    is_busy: bool = False


@dataclass(frozen=True)
class Machine:
    """Rates of the last seconds; None where the system does not tell."""

    cores: float | None = None
    main_cores: float | None = None
    other_cores: float | None = None
    read_bytes_per_s: float | None = None
    chars_read_per_s: float | None = None
    major_faults_per_s: float | None = None
    swapped_bytes_per_s: float | None = None
    disk_wait_threads: float | None = None
    memory_pressure: float | None = None
    io_pressure: float | None = None
    # Cores by group of threads, such as `main`, `tf.data` and `inter-op`.
    groups: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """One moment of a run.

    Args:
        at_s: when, on the clock of the recording.
        window_s: the time that rates and stacks are taken over.
        steps: training steps so far.
        quiet_s: since the user last saw it move: a step, a batch of validation, an epoch.
        still_s: since anything at all was counted on: an element, a batch, an operation traced.
        longest_s: the longest time between two steps before.
        is_answering: the process still writes its recording.
        answered_s: when it wrote last; None where that is not known.
        ended_s: when the script came to its end, and Python did not.
        compiled: the function that was traced last, for XLA, and has not run since.
        children_born: processes it has started so far, those that have ended included.
    """

    at_s: float
    window_s: float
    steps: int = 0
    quiet_s: float = 0.0
    still_s: float = 0.0
    longest_s: float = 0.0
    is_answering: bool = True
    answered_s: float | None = None
    ended_s: float | None = None
    loop: Loop | None = None
    threads: tuple[Thread, ...] = ()
    children: tuple[Child, ...] = ()
    children_born: int = 0
    stages: tuple[Stage, ...] = ()
    inputs: tuple[Input, ...] = ()
    raised: tuple[Raised, ...] = ()
    tracing: Tracing | None = None
    compiled: Location | None = None
    machine: Machine = Machine()
    environment: dict[str, str] = field(default_factory=dict)
    log_lines: dict[str, tuple[float, ...]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def at(self, file: str | None, line: int | None) -> Location | None:
        """Return a place with the text of its line."""
        if file is None or line is None:
            return None
        lines = self.sources.get(file, "").split("\n")
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return Location(file, line, text)

    def place(self, frame: stacks.Frame | None) -> Location | None:
        """Return where a frame is."""
        return None if frame is None else self.at(frame.file, frame.line)

    @property
    def main(self) -> Thread | None:
        """The main thread."""
        return next((thread for thread in self.threads if thread.role == "main"), None)

    @property
    def cardinality(self) -> int | None:
        """The elements that the pipeline will give: -1 endless, -2 unknown."""
        told = (stage.cardinality for stage in self.stages)
        return next((number for number in told if number is not None), None)

    @property
    def makers(self) -> tuple[Thread, ...]:
        """The threads that make input in Python."""
        return tuple(thread for thread in self.threads if thread.role == "input")
