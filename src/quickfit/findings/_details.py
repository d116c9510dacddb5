"""What a page draws beside the report: the run over its time, its input, the source around places.

Times count from the start of the run, as the account does. Series are thinned: a run of a million
steps has as many points as one of a thousand.
"""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.findings._records import Location


@dataclass(frozen=True)
class StepPoint:
    """The steps of one loop in a stretch of the run; often a single one.

    Args:
        first: the number of the first of them, from 0.
        steps: how many there are.
        low_s: a tenth of them take less.
        high_s: a tenth of them take longer.
        longest_s: the longest of them.
    """

    loop: int
    begin_s: float
    end_s: float
    first: int
    steps: int
    low_s: float
    median_s: float
    high_s: float
    longest_s: float


@dataclass(frozen=True)
class MemoryPoint:
    """What the process held at one moment; `parts` in the order of `RunDetails.memory_parts`."""

    at_s: float
    bytes: float
    parts: tuple[float, ...]


@dataclass(frozen=True)
class Mark:
    """A moment or a span of the run worth seeing beside its steps.

    `kind` is `loop`, `epoch`, `validation`, `trace`, `spike` or `stuck`.
    """

    kind: str
    begin_s: float
    end_s: float
    label: str
    where: Location | None = None


@dataclass(frozen=True)
class PipelineStage:
    """One stage of the input, as it ran.

    Args:
        label: what it does, with the user's function: `map(decode)`.
        where: the user's line; None for a stage that tf.data or Keras added.
        step_s: its work per training step, summed over its threads.
        period_s: the least time between two steps that it allows with its threads.
        elements: how many elements it passes on per training step.
        element_bytes: the mean size of one of them.
        parallelism: how many threads or workers it runs on.
        buffered: how many elements it held ready, on average; None for a stage without a buffer.
        buffer: how many it can hold; None where that is not known.
        is_async: it has threads of its own.
        depth: how many branches lie between it and the step: 0 on the main line.
    """

    label: str
    where: Location | None
    step_s: float
    period_s: float
    elements: float
    element_bytes: float
    parallelism: float
    buffered: float | None
    buffer: float | None
    is_async: bool
    depth: int = 0


@dataclass(frozen=True)
class Excerpt:
    """Lines of a user's file as they were when it ran; `line` is the number of the first."""

    file: str
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class RunDetails:
    """All of it, for one run.

    Args:
        started_at: when the run began, in seconds of the wall clock; None where it is not known.
        total_s: how long it took.
        steps: how many steps all loops took.
        points: the step times, in order.
        marks: what happened beside the steps.
        memory_parts: name and label of what memory is counted by, the steadiest first.
        memory: what was held, in order.
        stages: the input of the main loop, the source first.
        wait_share: which share of its steps the main loop waits for input; None if not measured.
        excerpts: the source around the places of findings and of their changes.
    """

    started_at: float | None
    total_s: float
    steps: int
    points: tuple[StepPoint, ...] = ()
    marks: tuple[Mark, ...] = ()
    memory_parts: tuple[tuple[str, str], ...] = ()
    memory: tuple[MemoryPoint, ...] = ()
    stages: tuple[PipelineStage, ...] = ()
    wait_share: float | None = None
    excerpts: tuple[Excerpt, ...] = ()
