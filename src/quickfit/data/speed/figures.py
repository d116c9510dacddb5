"""What was measured of an input pipeline, as plain numbers in seconds, bytes and shares.

An element is what one request for data returns, usually a batch; an example is one row of it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """One stage of a pipeline; times are per element that leaves the pipeline.

    Args:
        name: what it does, with the user's own function names: `map(decode)`.
        kind: its operation in one word: map, batch, shuffle, generator.
        work_s: the time its code ran, summed over its threads, waiting for files included.
        share: its part of the work of all stages.
        parallelism: how many threads it may use; what AUTOTUNE chose, where it chooses.
        period_s: the least time per element that it allows, with the stages on its thread.
        per_element: how many of its own elements one element of the pipeline takes.
        element_bytes: the mean size of what it passes on.
        buffered: how many elements it held at the end, and how many it may hold.
        buffer: None where it has no buffer.
        is_injected: it was added by tf.data, nobody wrote it.
        runs_python: its function calls into Python.
        is_random: its function keeps state or draws random numbers; None where nobody knows.
        place: `file.py:12` of its function.
    """

    name: str
    kind: str
    work_s: float
    share: float
    parallelism: float
    period_s: float
    per_element: float = 1.0
    element_bytes: float = 0.0
    buffered: int = 0
    buffer: float | None = None
    is_injected: bool = False
    runs_python: bool = False
    is_random: bool | None = None
    place: str | None = None


@dataclass(frozen=True)
class Span:
    """A stretch of the measurement: what came out of the pipeline, and what it took.

    `cpu_s` is that of the process and its children, all threads.
    """

    elements: int
    examples: int
    wall_s: float
    cpu_s: float

    @property
    def element_s(self) -> float:
        """Wall time for one element."""
        return self.wall_s / self.elements if self.elements else math.nan

    @property
    def element_cpu_s(self) -> float:
        """CPU time for one element."""
        return self.cpu_s / self.elements if self.elements else math.nan

    @property
    def elements_per_s(self) -> float:
        """Elements in a second."""
        return self.elements / self.wall_s if self.wall_s > 0 else math.nan

    @property
    def examples_per_s(self) -> float:
        """Examples in a second."""
        return self.examples / self.wall_s if self.wall_s > 0 else math.nan

    @property
    def unit(self) -> str:
        """What an element is called."""
        return "batch" if self.examples > self.elements else "element"

    @property
    def cores(self) -> float:
        """How many cores were busy with it."""
        return self.cpu_s / self.wall_s if self.wall_s > 0 else math.nan


def together(spans: Sequence[Span]) -> Span:
    """Return several stretches as one."""
    return Span(
        sum(span.elements for span in spans),
        sum(span.examples for span in spans),
        sum(span.wall_s for span in spans),
        sum(span.cpu_s for span in spans),
    )


def spread_of(blocks: Sequence[Span]) -> float:
    """Return the median distance of blocks from their median time per element, as a share."""
    times = [block.element_s for block in blocks if block.elements]
    if len(times) < 2:
        return 0.0
    middle = statistics.median(times)
    return statistics.median(abs(time - middle) for time in times) / middle


@dataclass(frozen=True)
class Memory:
    """Memory of the process and its children; None where the system does not say."""

    before_bytes: int | None
    after_bytes: int | None
    buffered_bytes: int
    free_bytes: int | None


@dataclass(frozen=True)
class Machine:
    """The cores this process may use, those that others kept busy meanwhile, and the device."""

    cores: float
    other_cores: float | None
    device: str
    is_cpu_only: bool
    read_bytes: int | None = None

    def is_contended(self, own_cores: float) -> bool:
        """Tell whether other processes took time from cores that were wanted here."""
        other = self.other_cores or 0.0
        # Less than a quarter of what is measured changes it by little; a desktop does that anyway.
        return other >= max(0.25 * own_cores, 0.1) and own_cores + other >= 0.9 * self.cores


@dataclass(frozen=True)
class Ideal:
    """The least time for one element on this machine, and what sets it, in words."""

    element_s: float
    basis: str


@dataclass(frozen=True)
class Limit:
    """What keeps the pipeline from being faster.

    Args:
        kind: cores, stage, python, storage, start (of each pass), consumer, busy (other
            processes), or unknown.
        text: one sentence with the figures that show it.
        stage: the name of the stage, where it is one.
    """

    kind: str
    text: str
    stage: str | None = None


@dataclass(frozen=True)
class Step:
    """The time that a model takes for one element; `cpu_s` only where it was measured."""

    step_s: float
    cpu_s: float | None
    is_measured: bool


@dataclass(frozen=True)
class Speed:
    """How fast an input pipeline is; printed, it is a table.

    Args:
        name: what was measured.
        total: all that was counted, warm-up left out.
        blocks: the same in parts, for the spread.
        first_s: how long the first element took, from asking for an iterator.
        first_pass: the first pass over the data, if it ended before counting began.
        has_cache: the first pass fills a cache, the later ones use it.
        passes: how many times the data ended.
        stages: from the sources to the consumer; empty where `no_stages` says why.
        limit: what keeps it from being faster.
        ideal: what the machine would allow.
        step: the model next to it, if one was given.
        advice: at most three sentences, each with its measured figure.
        notes: what to know when reading the figures.
    """

    name: str
    total: Span
    blocks: tuple[Span, ...]
    first_s: float
    first_pass: Span | None
    has_cache: bool
    passes: int
    stages: tuple[Stage, ...]
    no_stages: str | None
    memory: Memory
    machine: Machine
    limit: Limit
    ideal: Ideal
    step: Step | None
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def elements_per_s(self) -> float:
        """Elements (batches, usually) in a second."""
        return self.total.elements_per_s

    @property
    def examples_per_s(self) -> float:
        """Examples in a second."""
        return self.total.examples_per_s

    @property
    def is_first_pass_unlike(self) -> bool:
        """Tell whether the first pass took much longer per element than the later ones."""
        first = self.first_pass
        return first is not None and (
            self.has_cache or first.element_s > 1.5 * self.total.element_s
        )

    @property
    def spread(self) -> float:
        """The median distance of the blocks from their median, as a share of it."""
        return spread_of(self.blocks)

    def as_json(self) -> dict[str, Any]:
        """Return everything as a dictionary that `json.dumps` takes; not-a-number is None."""
        from quickfit.data.speed.to_json import as_json

        return as_json(self)

    def __repr__(self) -> str:
        from quickfit.data.speed.to_terminal import text

        return text(self)
