"""What a page draws beside the report: steps and memory over the run, the input, the source.

Nothing is measured here: signals and the account have it all, and it is thinned for drawing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quickfit.account import memory_course
from quickfit.account.memory import COURSE_PARTS, LABELS
from quickfit.account.timeline import Timeline, timeline
from quickfit.errors import SignalMissing
from quickfit.findings import (
    Excerpt,
    Finding,
    Mark,
    MemoryAccount,
    Phase,
    PipelineStage,
    RunDetails,
    StepPoint,
)
from quickfit.recording.thinning import seconds_of
from quickfit.signals import Signals
from quickfit.signals.input import Stage, snapshots_of
from quickfit.signals.loops import Loop
from quickfit.signals.steps import Step

# More points than a page has pixels for them say no more; so do more marks of one kind.
MAX_POINTS, MAX_MARKS = 800, 150
# Steps that are drawn together are so many at least: of fewer, a tenth says nothing.
MIN_TOGETHER = 10
# Lines of source before and after the one that a finding is at, and around a change.
CONTEXT_LINES = 4
# A file of the user with a line longer than this is data, not source.
MAX_LINE = 400
# Traces that are shorter do not show beside the steps.
MIN_TRACE_S = 0.005


def run_details(
    signals: Signals,
    *,
    findings: Sequence[Finding] = (),
    memory: MemoryAccount | None = None,
    phases: Sequence[Phase] = (),
) -> RunDetails | None:
    """Return the details of a run; None for a recording without a clock.

    Args:
        signals: of the run.
        findings: whose places are shown in their source.
        memory: the account at the peak.
        phases: up to the first step; one of a run that never got there is still open.
    """
    line = timeline(signals)
    if line is None:
        return None
    begin_s = line.begin_s - line.start_s
    started_at = signals.recording.run.get("started_at")
    return RunDetails(
        started_at=float(started_at) if isinstance(started_at, int | float) else None,
        total_s=line.total_s,
        steps=sum(_step_count(signals, loop) for loop in signals.loops),
        points=tuple(_step_points(signals, begin_s)),
        marks=tuple(_marks(signals, line, begin_s, phases)),
        memory_parts=tuple((name, LABELS[name]) for name in COURSE_PARTS),
        memory=tuple(
            dataclasses.replace(point, at_s=point.at_s - begin_s)
            for point in (memory_course(signals, memory) if memory is not None else ())
        ),
        stages=tuple(_stages(signals)),
        wait_share=_wait_share(signals),
        excerpts=tuple(_excerpts(signals, findings)),
    )


# -- steps --------------------------------------------------------------------------------------


def _rows(signals: Signals, table: str, loop: Loop) -> list[dict[str, Any]]:
    return [row for row in signals.process.rows(table) if row["loop"] == loop.id]


def _step_count(signals: Signals, loop: Loop) -> int:
    old = sum(row["steps"] for row in _rows(signals, "step_blocks", loop))
    return len(_rows(signals, "steps", loop)) + int(old)


def _step_points(signals: Signals, begin_s: float) -> Iterator[StepPoint]:
    """Yield the step times of every loop, thinned so that all together stay few."""
    many = sum(_step_count(signals, loop) for loop in signals.loops)
    each = 1 if many <= MAX_POINTS else max(math.ceil(many / MAX_POINTS), MIN_TOGETHER)
    for loop in signals.loops:
        done = 0
        for blocks in _in_groups(_rows(signals, "step_blocks", loop), each):
            point = _point_of_blocks(loop.id, blocks, done, begin_s)
            done += point.steps
            yield point
        every = signals.about(loop).every_step
        steps = every.steps if every is not None else ()
        for start in range(0, len(steps), each):
            yield _point_of_steps(loop.id, steps[start : start + each], done + start, begin_s)


def _in_groups(blocks: list[dict[str, Any]], steps: int) -> Iterator[list[dict[str, Any]]]:
    """Yield blocks that follow each other, together of about so many steps."""
    group: list[dict[str, Any]] = []
    for block in blocks:
        group.append(block)
        if sum(one["steps"] for one in group) >= steps:
            yield group
            group = []
    if group:
        yield group


def _point_of_blocks(
    loop: int, blocks: list[dict[str, Any]], first: int, begin_s: float
) -> StepPoint:
    seen: dict[int, int] = {}
    for block in blocks:
        for index, count in block["histogram"].items():
            seen[int(index)] = seen.get(int(index), 0) + count
    ordered, total = sorted(seen.items()), sum(seen.values())

    def quantile(share: float) -> float:
        below = 0
        for index, count in ordered:
            below += count
            if below >= share * total:
                return seconds_of(index)
        return 0.0

    return StepPoint(
        loop,
        blocks[0]["begin_s"] - begin_s,
        blocks[-1]["end_s"] - begin_s,
        first,
        sum(block["steps"] for block in blocks),
        quantile(0.1),
        quantile(0.5),
        quantile(0.9),
        quantile(1.0),
    )


def _point_of_steps(loop: int, steps: Sequence[Step], first: int, begin_s: float) -> StepPoint:
    times = sorted(step.cycle_s for step in steps)
    last = len(times) - 1
    return StepPoint(
        loop,
        steps[0].end_s - steps[0].cycle_s - begin_s,
        steps[-1].end_s - begin_s,
        first,
        len(steps),
        times[round(0.1 * last)],
        times[round(0.5 * last)],
        times[round(0.9 * last)],
        times[-1],
    )


# -- marks --------------------------------------------------------------------------------------


def _marks(
    signals: Signals, line: Timeline, begin_s: float, phases: Sequence[Phase]
) -> Iterator[Mark]:
    """Yield what happened beside the steps, kind by kind, in order."""
    known = {loop.id: loop for loop in signals.loops}
    marks = [
        *(_loop_mark(span.begin_s, span.end_s, known[span.loop]) for span in line.spans),
        *_epoch_marks(signals),
        *_trace_marks(signals),
        *_spike_marks(signals),
        *_stuck_marks(signals, line, phases),
    ]
    for kind in dict.fromkeys(mark.kind for mark in marks):
        mine = [mark for mark in marks if mark.kind == kind]
        for mark in _longest(mine) if kind in ("trace", "spike") else _spread(mine):
            yield dataclasses.replace(
                mark, begin_s=max(mark.begin_s - begin_s, 0.0), end_s=mark.end_s - begin_s
            )


def _longest(marks: list[Mark]) -> list[Mark]:
    longest = sorted(marks, key=lambda mark: mark.begin_s - mark.end_s)[:MAX_MARKS]
    return sorted(longest, key=lambda mark: mark.begin_s)


def _spread(marks: list[Mark]) -> list[Mark]:
    """Return marks that stand for the others: each nth, where there are too many to be seen."""
    return marks[:: max(math.ceil(len(marks) / MAX_MARKS), 1)]


def _loop_mark(begin_s: float, end_s: float, loop: Loop) -> Mark:
    return Mark("loop", begin_s, end_s, loop.kind, loop.location)


def _epoch_marks(signals: Signals) -> Iterator[Mark]:
    for loop in signals.loops:
        about = signals.about(loop)
        every = about.every_step
        last = {step.epoch: step.end_s for step in every.steps} if every is not None else {}
        for epoch in about.epochs:
            label = f"epoch {epoch.number}"
            yield Mark("epoch", epoch.begin_s, epoch.end_s, label, loop.location)
            if epoch.validation_s > 0:
                # It follows the last step of the epoch.
                at_s = last.get(epoch.number, epoch.end_s - epoch.validation_s)
                end_s = min(at_s + epoch.validation_s, epoch.end_s)
                yield Mark("validation", at_s, end_s, f"validation of {label}", loop.location)


def _trace_marks(signals: Signals) -> Iterator[Mark]:
    for trace in signals.traces:
        if not trace.is_nested and trace.duration_s >= MIN_TRACE_S:
            begin_s = trace.at_s - trace.duration_s if trace.count == 1 else trace.at_s
            where = trace.location or trace.caller
            yield Mark("trace", begin_s, trace.at_s, f"`{trace.name}` was traced", where)


def _spike_marks(signals: Signals) -> Iterator[Mark]:
    try:
        found = signals.spikes
    except SignalMissing:
        return
    for spike in found.spikes if found is not None else ():
        yield Mark("spike", spike.begin_s, spike.end_s, f"slow step {spike.number:,}")


def _stuck_marks(signals: Signals, line: Timeline, phases: Sequence[Phase]) -> Iterator[Mark]:
    # Before the first step a run is quiet from its start; it stands still in the phase it is in.
    open_s = next((line.end_s - phase.seconds for phase in phases if phase.is_open), 0.0)
    for silence in signals.silences:
        if silence.at_s is not None:
            begin_s = max(silence.at_s - silence.quiet_s, open_s)
            end_s = max(silence.moved_again_s or line.end_s, begin_s)
            yield Mark("stuck", begin_s, end_s, silence.summary, silence.location)


# -- input --------------------------------------------------------------------------------------


def _wait_share(signals: Signals) -> float | None:
    try:
        return signals.wait.share
    except SignalMissing:
        return None


def _stages(signals: Signals) -> Iterator[PipelineStage]:
    """Yield the stages of the main loop's input, the source first."""
    source = _python_stage(signals)
    if source is not None:
        yield source
    try:
        stages = signals.stages
        fills = _mean_fill(signals)
    except SignalMissing:
        return
    for stage, depth in _from_source(stages):
        # How Keras hands a generator on to tf.data is no stage of the user's.
        is_hull = source is not None and stage.kind in ("generator", "flatmap")
        if is_hull or stage.kind in ("root", "options") or not stage.per_step:
            continue
        buffered = fills.get((stage.name, _occurrence(stages, stage)), float(stage.buffered))
        holds = stage.buffer is not None or buffered > 0
        yield PipelineStage(
            label=f"{stage.kind}({stage.function})" if stage.function else stage.kind,
            where=stage.location,
            step_s=stage.work_s,
            period_s=stage.work_s / max(stage.parallelism, 1.0),
            elements=stage.per_step,
            element_bytes=stage.element_bytes,
            parallelism=stage.parallelism,
            buffered=buffered if holds else None,
            buffer=stage.buffer or stage.fact("buffer_size"),
            is_async=stage.is_async,
            depth=depth,
        )


def _python_stage(signals: Signals) -> PipelineStage | None:
    try:
        source = signals.py_input
    except SignalMissing:
        return None
    if source is None:
        return None
    step_s, workers = source.batch_s * signals.steps_per_execution, max(source.workers, 1)
    return PipelineStage(
        label=f"{source.kind} `{source.name}`" if source.name else source.kind,
        where=source.location or source.made_at,
        step_s=step_s,
        period_s=step_s / workers,
        elements=float(signals.steps_per_execution),
        element_bytes=0.0,
        parallelism=float(workers),
        buffered=None,
        buffer=None,
        is_async=workers > 1,
    )


def _occurrence(stages: Sequence[Stage], stage: Stage) -> int:
    return [one for one in stages if one.name == stage.name].index(stage)


def _mean_fill(signals: Signals) -> dict[tuple[str, int], float]:
    """Return how many elements each stage held on average, by its name and which of that name."""
    held: dict[tuple[str, int], list[int]] = {}
    for series in snapshots_of(signals.process, signals.loop.id).values():
        for snapshot in series:
            if not snapshot.nodes[snapshot.root].elements:
                continue  # before the first batch every buffer is empty
            names: dict[str, int] = {}
            for number in sorted(snapshot.nodes):
                node = snapshot.nodes[number]
                place = names.get(node.name, 0)
                names[node.name] = place + 1
                held.setdefault((node.name, place), []).append(node.buffered)
    return {key: sum(values) / len(values) for key, values in held.items()}


def _from_source(stages: Sequence[Stage]) -> Iterator[tuple[Stage, int]]:
    """Yield each stage after those that feed it, with how many branches lie before the step."""
    known, seen = {stage.number: stage for stage in stages}, set()
    waiting = [(stages[0], 0, False)] if stages else []
    while waiting:
        stage, depth, is_fed = waiting.pop()
        if is_fed:
            yield stage, depth
        elif stage.number not in seen:
            seen.add(stage.number)
            waiting.append((stage, depth, True))
            inputs = [known[number] for number in stage.inputs if number in known]
            # The first input is the main line.
            branches = [(one, depth + (place > 0), False) for place, one in enumerate(inputs)]
            waiting.extend(reversed(branches))


# -- source -------------------------------------------------------------------------------------


def _excerpts(signals: Signals, findings: Iterable[Finding]) -> Iterator[Excerpt]:
    """Yield the lines around the places of findings and of their changes."""
    wanted: dict[str, set[int]] = {}
    for finding in findings:
        for where in (finding.where, *(fact.where for fact in finding.evidence)):
            if where is not None:
                _want(wanted, where.file, where.line, where.line)
        for hunk in finding.fix.hunks if finding.fix is not None else ():
            last = hunk.line + hunk.before.count("\n")
            _want(wanted, hunk.file, hunk.line, last)
    for file, numbers in wanted.items():
        text = signals.source_text(file)
        lines = text.split("\n") if text else []
        run: list[int] = []
        for number in sorted(n for n in numbers if 1 <= n <= len(lines)):
            if run and number != run[-1] + 1:
                yield _excerpt(file, run, lines)
                run = []
            run.append(number)
        if run:
            yield _excerpt(file, run, lines)


def _want(wanted: dict[str, set[int]], file: str, first: int, last: int) -> None:
    last = min(last, first + 200)
    wanted.setdefault(file, set()).update(range(first - CONTEXT_LINES, last + CONTEXT_LINES + 1))


def _excerpt(file: str, numbers: list[int], lines: list[str]) -> Excerpt:
    return Excerpt(file, numbers[0], tuple(lines[n - 1][:MAX_LINE] for n in numbers))
