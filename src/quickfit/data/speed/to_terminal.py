"""Writes what was measured as a table with bars, for a terminal of any width."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quickfit import units
from quickfit.data.speed.model_step import step_text

if TYPE_CHECKING:
    from quickfit.data.speed.figures import Span, Speed, Stage

WIDTH = 100
BAR = 20
# What the figures of a stage take beside its name and its bar.
_FIGURES = 48
# A narrower terminal has no room for bars.
MIN_BAR_WIDTH = 76
# A name is cut at the right edge, but not to less than this.
MIN_NAME = 16
# In a longer chain, stages that do less than this share of the work are only counted.
MAX_STAGES, MIN_SHARE = 10, 0.01
# Less is within what a measurement moves by itself.
MIN_GAIN = 1.1
_INDENT = "   "


def text(speed: Speed, width: int = WIDTH) -> str:
    """Return the whole report as lines of plain text."""
    return "\n".join(line.rstrip() for line in _lines(speed, width))


def _lines(speed: Speed, width: int) -> Iterator[str]:
    yield printable(f"{speed.name}: {_rates(speed.total)}")
    for lead, said in _head(speed):
        yield from _said(f"{_INDENT}{lead:<9}", said, width)
    yield ""
    yield from _stages(speed, width)
    yield ""
    yield from _paces(speed, width)
    yield ""
    yield from _said("limit  ", speed.limit.text, width)
    if speed.step is not None:
        yield from _said("model  ", step_text(speed.total, speed.step, speed.machine), width)
    for advice in speed.advice:
        yield from _said("try    ", advice, width)
    for note in speed.notes:
        yield from _said("note   ", note, width)


def _head(speed: Speed) -> Iterator[tuple[str, str]]:
    machine, memory = speed.machine, speed.memory
    other = machine.other_cores
    load = "other load unknown" if other is None else f"other processes use {other:.1f}"
    yield "device", f"{machine.device}, {_number(machine.cores)} cores, {load}"
    yield (
        "counted",
        f"{_elements(speed.total)} in {units.seconds(speed.total.wall_s)},"
        f" blocks ± {units.share(speed.spread)}, {_passes(speed.passes)}",
    )
    yield "first", f"{units.seconds(speed.first_s)} to the first {speed.total.unit}"
    if speed.first_pass is not None and speed.is_first_pass_unlike:
        why = ", which fills a cache" if speed.has_cache else ""
        yield "", f"{_rates(speed.first_pass)} in the first pass{why}"
    yield "memory", f"{_memory(speed)}, {units.size(memory.buffered_bytes)} in buffers"


def _rates(span: Span) -> str:
    said = f"{units.rate(span.examples_per_s).removesuffix('/s')} examples/s"
    if span.examples > span.elements:
        said += f" ({units.rate(span.elements_per_s).removesuffix('/s')} batches/s)"
    return said


def _elements(span: Span) -> str:
    if span.unit == "element":
        return f"{_count(span.elements, 'element')} (1 example per element)"
    each = span.examples / span.elements
    held = units.count(int(each)) if each == int(each) else f"about {each:.1f}"
    return (
        f"{_count(span.elements, 'batch', 'batches')}"
        f" ({_count(span.examples, 'example')}, {held} per batch)"
    )


def _memory(speed: Speed) -> str:
    before, after = speed.memory.before_bytes, speed.memory.after_bytes
    if before is None or after is None:
        return "unknown"
    return f"{units.size(before)} before, {units.size(after)} after"


def _passes(count: int) -> str:
    return "data not at its end" if count == 0 else f"{_count(count, 'pass', 'passes')} ended"


def _stages(speed: Speed, width: int) -> Iterator[str]:
    if not speed.stages:
        yield from _said("stages ", f"unknown: {speed.no_stages}", width)
        return
    length = BAR if width >= WIDTH else BAR // 2 if width >= MIN_BAR_WIDTH else 0
    shown, others = _shown(speed.stages)
    names = [_name(stage, width - length - _FIGURES) for stage in shown]
    wide = max(map(len, (*names, "stage")))
    head = f"{'stage':<{wide}}  {'work':>7}  {'share':<{length + 7}}"
    yield f"{head}  threads  {'period':>7}  buffer"
    for name, stage in zip(names, shown, strict=True):
        share = f"{_share(stage.share):>5}  {bar(stage.share, length):<{length}}"
        yield (
            f"{name:<{wide}}  {units.seconds(stage.work_s):>7}  {share}"
            f"  {_number(stage.parallelism):>7}  {units.seconds(stage.period_s):>7}"
            f"  {_buffer(stage)}"
        )
    if others:
        yield f"{_count(others, 'other')}, each under {units.share(MIN_SHARE)}"


def _shown(stages: Sequence[Stage]) -> tuple[list[Stage], int]:
    """Return the stages worth a line, and how many are not: long chains have many that idle."""
    if len(stages) <= MAX_STAGES:
        return list(stages), 0
    shown = [stage for stage in stages if stage.share >= MIN_SHARE]
    return shown, len(stages) - len(shown)


def _name(stage: Stage, room: int) -> str:
    place = f" {stage.place}" if stage.place else ""
    mark = " (by tf.data)" if stage.is_injected else ""
    full, room = printable(f"{stage.name}{place}{mark}"), max(room, MIN_NAME)
    if len(full) > room:
        full = printable(f"{stage.name}{mark}")
    return full if len(full) <= room else f"{full[: room - 1]}…"


def printable(name: str) -> str:
    """Return a name with what would steer a terminal shown as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def _share(share: float) -> str:
    # `under 0.1 %` is too wide for a column, and no stage to look at.
    return units.share(share if share >= 0.0005 else 0.0)


def _buffer(stage: Stage) -> str:
    if stage.buffer is None:
        return f"{stage.buffered}" if stage.buffered else ""
    return f"{stage.buffered} of {_number(stage.buffer)}"


def _paces(speed: Speed, width: int) -> Iterator[str]:
    rows = [
        ("now", speed.total.element_s, f"{units.seconds(speed.total.element_cpu_s)} CPU"),
        ("ideal", speed.ideal.element_s, f"{speed.ideal.basis}{_gain(speed)}"),
    ]
    if speed.step is not None:
        how = "measured on one cached batch" if speed.step.is_measured else "as given"
        rows.append(("model", speed.step.step_s, how))
    longest = max(value for _, value, _ in rows if math.isfinite(value))
    yield f"time per {speed.total.unit}"
    for name, value, basis in rows:
        share = value / longest if longest > 0 and math.isfinite(value) else 0.0
        yield f"{_INDENT}{name:<6} {units.seconds(value):>7}  {bar(share):<{BAR}}  {basis}"[:width]


def _gain(speed: Speed) -> str:
    """Return how many times as fast the ideal is, where that is worth saying."""
    now, ideal_s = speed.total, speed.ideal.element_s
    if ideal_s <= 0 or speed.machine.is_contended(now.cores):
        return ""
    gain = now.element_s / ideal_s
    return f": {units.factor(gain)} as fast" if gain >= MIN_GAIN else ""


def bar(share: float, length: int = BAR) -> str:
    """Return a row of `#`, as long as a share of a full one."""
    if not math.isfinite(share):
        return ""
    # A stage that did next to nothing has no bar.
    return "#" * min(max(round(share * length), 1 if share >= 0.01 else 0), length)


def _said(lead: str, said: str, width: int) -> list[str]:
    return textwrap.wrap(
        printable(said),
        max(width, 40),
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def _count(value: int, one: str, many: str = "") -> str:
    return f"{units.count(value)} {one if value == 1 else many or one + 's'}"
