"""What was measured of an input pipeline: figures, their JSON, and their table for a terminal."""

from __future__ import annotations

import dataclasses
import math
import statistics
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quickfit import units
from quickfit.data.entries import escape_name

WIDTH = 100
BAR = 20
# What the figures of a stage take beside its name and its bar.
_FIGURES_WIDTH = 48
# A narrower terminal has no room for bars.
MIN_BAR_WIDTH = 76
# A name is cut at the right edge, but not to less than this.
MIN_NAME = 16
# In a longer chain, stages that do less than this share of the work are only counted.
MAX_STAGES, MIN_SHARE = 10, 0.01
# Less is within what a single measurement moves by itself.
MIN_GAIN_AT_ONCE = 1.1
# Input and step within a tenth of each other are the same to a busy machine.
EVEN_SHARE = 0.1
_INDENT = "   "


@dataclass(frozen=True)
class StageFigures:
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
class TimeSpan:
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


def join_spans(spans: Sequence[TimeSpan]) -> TimeSpan:
    """Return several stretches as one."""
    return TimeSpan(
        sum(span.elements for span in spans),
        sum(span.examples for span in spans),
        sum(span.wall_s for span in spans),
        sum(span.cpu_s for span in spans),
    )


def rate_spread(blocks: Sequence[TimeSpan]) -> float:
    """Return the median distance of blocks from their median time per element, as a share."""
    times = [block.element_s for block in blocks if block.elements]
    if len(times) < 2:
        return 0.0
    middle = statistics.median(times)
    return statistics.median(abs(time - middle) for time in times) / middle


@dataclass(frozen=True)
class MemoryUse:
    """Memory of the process and its children; None where the system does not say."""

    before_bytes: int | None
    after_bytes: int | None
    buffered_bytes: int
    free_bytes: int | None


@dataclass(frozen=True)
class MachineUse:
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
class IdealSpeed:
    """The least time for one element on this machine, and what sets it, in words."""

    element_s: float
    basis: str


@dataclass(frozen=True)
class SpeedLimit:
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
class StepTime:
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
    total: TimeSpan
    blocks: tuple[TimeSpan, ...]
    first_s: float
    first_pass: TimeSpan | None
    has_cache: bool
    passes: int
    stages: tuple[StageFigures, ...]
    no_stages: str | None
    memory: MemoryUse
    machine: MachineUse
    limit: SpeedLimit
    ideal: IdealSpeed
    step: StepTime | None
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
        return rate_spread(self.blocks)

    def as_json(self) -> dict[str, Any]:
        """Return everything as a dictionary that `json.dumps` takes; not-a-number is None."""

        return speed_to_json(self)

    def __repr__(self) -> str:

        return format_speed(self)


def speed_to_json(speed: Speed) -> dict[str, Any]:
    """Return a dictionary of numbers, texts and lists; what is not a finite number is None."""
    found = {
        "name": speed.name,
        "elements": speed.total.elements,
        "examples": speed.total.examples,
        "elements_per_s": speed.elements_per_s,
        "examples_per_s": speed.examples_per_s,
        "element_s": speed.total.element_s,
        "element_cpu_s": speed.total.element_cpu_s,
        "spread": speed.spread,
        "first_s": speed.first_s,
        "passes": speed.passes,
        "first_pass": _span_to_json(speed.first_pass) if speed.first_pass is not None else None,
        "has_cache": speed.has_cache,
        "blocks": [_span_to_json(block) for block in speed.blocks],
        "stages": [dataclasses.asdict(stage) for stage in speed.stages],
        "no_stages": speed.no_stages,
        "memory": dataclasses.asdict(speed.memory),
        "machine": dataclasses.asdict(speed.machine),
        "limit": dataclasses.asdict(speed.limit),
        "ideal": dataclasses.asdict(speed.ideal),
        "step": dataclasses.asdict(speed.step) if speed.step is not None else None,
        "advice": list(speed.advice),
        "notes": list(speed.notes),
    }
    return {name: finite_or_none(value) for name, value in found.items()}


def _span_to_json(span: TimeSpan) -> dict[str, Any]:
    return {**dataclasses.asdict(span), "examples_per_s": span.examples_per_s}


def finite_or_none(value: Any) -> Any:
    """Return a value with None in place of what JSON has no word for."""
    if isinstance(value, dict):
        return {name: finite_or_none(part) for name, part in value.items()}
    if isinstance(value, list):
        return [finite_or_none(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def format_speed(speed: Speed, width: int = WIDTH) -> str:
    """Return the whole report as lines of plain text."""
    return "\n".join(line.rstrip() for line in _report_lines(speed, width))


def _report_lines(speed: Speed, width: int) -> Iterator[str]:
    yield escape_name(f"{speed.name}: {_format_rates(speed.total)}")
    for lead, said in _head_lines(speed):
        yield from _wrap_text(f"{_INDENT}{lead:<9}", said, width)
    yield ""
    yield from _stage_lines(speed, width)
    yield ""
    yield from _pace_lines(speed, width)
    yield ""
    yield from _wrap_text("limit  ", speed.limit.text, width)
    if speed.step is not None:
        yield from _wrap_text("model  ", format_step(speed.total, speed.step, speed.machine), width)
    for advice in speed.advice:
        yield from _wrap_text("try    ", advice, width)
    for note in speed.notes:
        yield from _wrap_text("note   ", note, width)


def _head_lines(speed: Speed) -> Iterator[tuple[str, str]]:
    machine, memory = speed.machine, speed.memory
    other = machine.other_cores
    load = "other load unknown" if other is None else f"other processes use {other:.1f}"
    yield "device", f"{machine.device}, {_format_number(machine.cores)} cores, {load}"
    yield (
        "counted",
        f"{_format_elements(speed.total)} in {units.seconds(speed.total.wall_s)},"
        f" blocks ± {units.share(speed.spread)}, {_format_passes(speed.passes)}",
    )
    yield "first", f"{units.seconds(speed.first_s)} to the first {speed.total.unit}"
    if speed.first_pass is not None and speed.is_first_pass_unlike:
        why = ", which fills a cache" if speed.has_cache else ""
        yield "", f"{_format_rates(speed.first_pass)} in the first pass{why}"
    yield "memory", f"{_format_memory(speed)}, {units.size(memory.buffered_bytes)} in buffers"


def _format_rates(span: TimeSpan) -> str:
    said = f"{units.rate(span.examples_per_s).removesuffix('/s')} examples/s"
    if span.examples > span.elements:
        said += f" ({units.rate(span.elements_per_s).removesuffix('/s')} batches/s)"
    return said


def _format_elements(span: TimeSpan) -> str:
    if span.unit == "element":
        return f"{_format_count(span.elements, 'element')} (1 example per element)"
    each = span.examples / span.elements
    held = units.count(int(each)) if each == int(each) else f"about {each:.1f}"
    return (
        f"{_format_count(span.elements, 'batch', 'batches')}"
        f" ({_format_count(span.examples, 'example')}, {held} per batch)"
    )


def _format_memory(speed: Speed) -> str:
    before, after = speed.memory.before_bytes, speed.memory.after_bytes
    if before is None or after is None:
        return "unknown"
    return f"{units.size(before)} before, {units.size(after)} after"


def _format_passes(count: int) -> str:
    return (
        "data not at its end" if count == 0 else f"{_format_count(count, 'pass', 'passes')} ended"
    )


def _stage_lines(speed: Speed, width: int) -> Iterator[str]:
    if not speed.stages:
        yield from _wrap_text("stages ", f"unknown: {speed.no_stages}", width)
        return
    length = BAR if width >= WIDTH else BAR // 2 if width >= MIN_BAR_WIDTH else 0
    shown, others = _stages_to_show(speed.stages)
    names = [_stage_name(stage, width - length - _FIGURES_WIDTH) for stage in shown]
    wide = max(map(len, (*names, "stage")))
    head = f"{'stage':<{wide}}  {'work':>7}  {'share':<{length + 7}}"
    yield f"{head}  threads  {'period':>7}  buffer"
    for name, stage in zip(names, shown, strict=True):
        share = f"{_format_share(stage.share):>5}  {format_bar(stage.share, length):<{length}}"
        yield (
            f"{name:<{wide}}  {units.seconds(stage.work_s):>7}  {share}"
            f"  {_format_number(stage.parallelism):>7}  {units.seconds(stage.period_s):>7}"
            f"  {_format_buffer(stage)}"
        )
    if others:
        yield f"{_format_count(others, 'other')}, each under {units.share(MIN_SHARE)}"


def _stages_to_show(stages: Sequence[StageFigures]) -> tuple[list[StageFigures], int]:
    """Return the stages worth a line, and how many are not: long chains have many that idle."""
    if len(stages) <= MAX_STAGES:
        return list(stages), 0
    shown = [stage for stage in stages if stage.share >= MIN_SHARE]
    return shown, len(stages) - len(shown)


def _stage_name(stage: StageFigures, room: int) -> str:
    place = f" {stage.place}" if stage.place else ""
    mark = " (by tf.data)" if stage.is_injected else ""
    full, room = escape_name(f"{stage.name}{place}{mark}"), max(room, MIN_NAME)
    if len(full) > room:
        full = escape_name(f"{stage.name}{mark}")
    return full if len(full) <= room else f"{full[: room - 1]}…"


def _format_share(share: float) -> str:
    # `under 0.1 %` is too wide for a column, and no stage to look at.
    return units.share(share if share >= 0.0005 else 0.0)


def _format_buffer(stage: StageFigures) -> str:
    if stage.buffer is None:
        return f"{stage.buffered}" if stage.buffered else ""
    return f"{stage.buffered} of {_format_number(stage.buffer)}"


def _pace_lines(speed: Speed, width: int) -> Iterator[str]:
    rows = [
        ("now", speed.total.element_s, f"{units.seconds(speed.total.element_cpu_s)} CPU"),
        ("ideal", speed.ideal.element_s, f"{speed.ideal.basis}{_format_gain(speed)}"),
    ]
    if speed.step is not None:
        how = "measured on one cached batch" if speed.step.is_measured else "as given"
        rows.append(("model", speed.step.step_s, how))
    longest = max(value for _, value, _ in rows if math.isfinite(value))
    yield f"time per {speed.total.unit}"
    for name, value, basis in rows:
        share = value / longest if longest > 0 and math.isfinite(value) else 0.0
        yield f"{_INDENT}{name:<6} {units.seconds(value):>7}  {format_bar(share):<{BAR}}  {basis}"[
            :width
        ]


def _format_gain(speed: Speed) -> str:
    """Return how many times as fast the ideal is, where that is worth saying."""
    now, ideal_s = speed.total, speed.ideal.element_s
    if ideal_s <= 0 or speed.machine.is_contended(now.cores):
        return ""
    gain = now.element_s / ideal_s
    return f": {units.factor(gain)} as fast" if gain >= MIN_GAIN_AT_ONCE else ""


def format_bar(share: float, length: int = BAR) -> str:
    """Return a row of `#`, as long as a share of a full one."""
    if not math.isfinite(share):
        return ""
    # A stage that did next to nothing has no bar.
    return "#" * min(max(round(share * length), 1 if share >= 0.01 else 0), length)


def _wrap_text(lead: str, said: str, width: int) -> list[str]:
    return textwrap.wrap(
        escape_name(said),
        max(width, 40),
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
    )


def _format_number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def _format_count(value: int, one: str, many: str = "") -> str:
    return f"{units.count(value)} {one if value == 1 else many or one + 's'}"


def format_step(total: TimeSpan, step: StepTime, on: MachineUse) -> str:
    """Return in one sentence whether the input keeps up with the model."""
    input_s, step_s = total.element_s, step.step_s
    figures = f"the model takes {units.seconds(step_s)} per {total.unit}, the input"
    figures += f" {units.seconds(input_s)}"
    if input_s > step_s * (1 + EVEN_SHARE):
        waits = units.share((input_s - step_s) / input_s)
        return f"input is the limit: {figures}; {waits} of each step would be waiting"
    if input_s > step_s * (1 - EVEN_SHARE):
        return f"input and model are about even: {figures}"
    if on.is_cpu_only and step.cpu_s is not None:
        both_s = (step.cpu_s + total.element_cpu_s) / on.cores
        if both_s > step_s * (1 + EVEN_SHARE):
            return (
                f"input takes cores from the model: {figures}, and with"
                f" {units.seconds(total.element_cpu_s)} of its CPU time a step would take about"
                f" {units.seconds(both_s)}"
            )
    return f"input is not the limit: {figures}"
