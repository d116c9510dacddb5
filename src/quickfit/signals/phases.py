"""Where the time before the first step went: phases that follow each other and add up.

Before the loop, the samples of the main thread tell what it did. Inside the loop, traces have
exact times; the shuffle's fill and the first batch are read off the snapshots of tf.data's model,
half a second apart; what is left is the first step itself, with the set-up of its kernels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.first_batch import Fill, shuffle_fill, until_first_batch_s
from quickfit.signals.host import Frame
from quickfit.signals.loops import Locate, Loop
from quickfit.signals.stack_phases import Activity, activity, is_in_fit
from quickfit.signals.timed_stacks import TimedStack, timed_stacks
from quickfit.signals.traces import Trace

NAMES = (
    "imports",
    "data",
    "model",
    "evaluating",
    "predicting",
    "calling",
    "iterator_ends",
    "other",
    "tracing",
    "shuffle_fill",
    "first_batch",
    "first_step",
)
# What the main thread does inside `fit` before its first step; the rest is told by other means.
SETUP = ("imports", "data", "model", "first_batch")
# "Where is it now" looks at the samples of this long before the end.
LAST_SEEN_S = 1.0


@dataclass(frozen=True)
class PhaseTime:
    """One phase: its seconds, and the user's line that most of it was seen at."""

    name: str
    seconds: float
    location: Location | None = None
    detail: str = ""


@dataclass(frozen=True)
class FirstStep:
    """The time to the first step, by phase. `still_in` is empty once the step has ended."""

    total_s: float
    phases: tuple[PhaseTime, ...]
    still_in: str = ""


@dataclass
class _Sums:
    """Seconds by phase, and by the user's line they were seen at."""

    locate: Locate
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lines: dict[str, dict[Frame, float]] = field(default_factory=dict)

    def add(self, what: Activity, seconds: float) -> None:
        self.seconds[what.name] += seconds
        if what.line is not None:
            lines = self.lines.setdefault(what.name, defaultdict(float))
            lines[what.line] += seconds

    def location(self, name: str) -> Location | None:
        lines = self.lines.get(name)
        if not lines:
            return None
        frame = max(lines, key=lambda line: lines[line])
        return self.locate(frame.file, frame.line)


def first_step(
    process: ProcessRecording, loops: Sequence[Loop], traces: Sequence[Trace], locate: Locate
) -> FirstStep | None:
    """Return the phases up to the end of the first step, or up to now; None without a clock."""
    started_s = process.facts.get("started_s")
    if started_s is None:
        return None
    loop = _first_loop(loops)
    ended_s = loop.first_step_s if loop is not None else None
    until_s = _last_seen_s(process, started_s) if ended_s is None else ended_s
    sums = _Sums(locate)
    entered_s = until_s if loop is None else min(max(loop.entered_s, started_s), until_s)
    _before_loop(process, sums, started_s, entered_s)
    fill: Fill | None = None
    if loop is not None:
        fill = _in_loop(process, sums, loop, traces, until_s)
    still_in = ""
    if ended_s is None:
        still_in = _still_in(process, sums, loop, fill, until_s)
        if loop is not None and still_in not in ("", "first_step"):
            # What could not be told apart is what it is still at.
            sums.seconds[still_in] += sums.seconds.pop("first_step", 0.0)
    phases = tuple(_phase(name, sums, fill) for name in NAMES)
    return FirstStep(until_s - started_s, phases, still_in)


def _first_loop(loops: Sequence[Loop]) -> Loop | None:
    """Return the loop that came to a step first, of those that train if there are any."""
    known = [loop for loop in loops if loop.trains] or list(loops)
    ended = [loop for loop in known if loop.first_step_s is not None]
    return min(ended or known, key=lambda loop: loop.first_step_s or loop.entered_s, default=None)


def _last_seen_s(process: ProcessRecording, started_s: float) -> float:
    ended_s = process.facts.get("ended_s")
    rows = process.rows("samples")
    seen_s = rows[-1]["at_s"] if rows else started_s
    return float(max(started_s, ended_s if ended_s is not None else seen_s))


def _before_loop(process: ProcessRecording, sums: _Sums, begin_s: float, end_s: float) -> None:
    stacks = timed_stacks(
        process, begin_s, end_s, wanted=lambda frames, loop: loop is None and not is_in_fit(frames)
    )
    if not stacks:
        sums.seconds["other"] += end_s - begin_s
    for stack in stacks:
        sums.add(activity(stack.frames, sums.locate), stack.seconds)


def _in_loop(
    process: ProcessRecording, sums: _Sums, loop: Loop, traces: Sequence[Trace], until_s: float
) -> Fill | None:
    """Split the time from the call of the loop to the end of its first step."""
    entered_s = min(loop.entered_s, until_s)
    first = next((row for row in process.rows("steps") if row["loop"] == loop.id), None)
    step_s = min(first["begin_s"], until_s) if first else min(loop.begin_s, until_s)
    step_s = max(step_s, entered_s)
    spans = _spans(traces, loop, entered_s, until_s)
    traced_s = sum(end - begin for begin, end in spans)
    sums.seconds["tracing"] += traced_s
    setup_s = step_s - entered_s - sum(max(min(e, step_s) - b, 0.0) for b, e in spans)
    left_s = until_s - entered_s - traced_s
    left_s -= _set_up(process, sums, (entered_s, step_s), max(setup_s, 0.0))
    found = _first_wait(process, loop, first, spans, (step_s, until_s))
    fill_s = min(found.fill_s, left_s)
    batch_s = min(found.batch_s, left_s - fill_s)
    sums.seconds["shuffle_fill"] += fill_s
    sums.seconds["first_batch"] += batch_s
    sums.seconds["first_step"] += max(left_s - fill_s - batch_s, 0.0)
    return found.fill


class FirstWait(NamedTuple):
    """How long the first step of a loop waited for its batch: for a shuffle to fill, and after."""

    fill_s: float = 0.0
    batch_s: float = 0.0
    fill: Fill | None = None


def first_wait(process: ProcessRecording, loop: Loop, traces: Sequence[Trace]) -> FirstWait:
    """Return the wait of a loop's first step; nothing where no step has ended."""
    first = next((row for row in process.rows("steps") if row["loop"] == loop.id), None)
    if first is None:
        return FirstWait()
    spans = _spans(traces, loop, min(loop.entered_s, first["begin_s"]), first["end_s"])
    return _first_wait(process, loop, first, spans, (first["begin_s"], first["end_s"]))


def _first_wait(
    process: ProcessRecording,
    loop: Loop,
    first: dict[str, Any] | None,
    spans: list[tuple[float, float]],
    step: tuple[float, float],
) -> FirstWait:
    step_s, until_s = step
    asked_s, wait_s = step_s, first["wait_s"] if first else None
    if wait_s is None:
        # Nothing is asked of the pipeline before the step is traced.
        asked_s = max([step_s, *(end for _, end in spans)])
        wait_s = until_first_batch_s(process, loop.id, asked_s, until_s)
    fill = shuffle_fill(process, loop.id, (asked_s, until_s), wait_s)
    fill_s = max(fill.end_s - asked_s, 0.0) if fill else 0.0
    return FirstWait(fill_s, max(wait_s - fill_s, 0.0), fill)


def _set_up(
    process: ProcessRecording, sums: _Sums, span: tuple[float, float], setup_s: float
) -> float:
    """Add what `fit` does before its first step, without traces; return how much was told."""
    stacks = timed_stacks(process, *span, wanted=lambda frames, loop: is_in_fit(frames))
    told = [(activity(stack.frames, sums.locate), stack) for stack in stacks]
    told = [(what, stack) for what, stack in told if what.name in SETUP]
    total_s = sum(stack.seconds for _, stack in told)
    if total_s <= 0:
        return 0.0
    for what, stack in told:
        sums.add(what, stack.seconds * setup_s / total_s)
    return setup_s


def _spans(
    traces: Iterable[Trace], loop: Loop, begin_s: float, end_s: float
) -> list[tuple[float, float]]:
    """Return when the thread of the loop traced, without overlap."""
    spans: list[tuple[float, float]] = []
    # A loop of the script is known to be one only after its first step.
    is_late = loop.kind != "fit"
    mine = (t for t in traces if t.is_in_loop or is_late or t.at_s <= loop.begin_s)
    for trace in sorted(mine, key=lambda t: t.at_s - t.duration_s):
        begin, end = max(trace.at_s - trace.duration_s, begin_s), min(trace.at_s, end_s)
        if spans and begin < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        elif begin < end:
            spans.append((begin, end))
    return spans


def _still_in(
    process: ProcessRecording, sums: _Sums, loop: Loop | None, fill: Fill | None, until_s: float
) -> str:
    """Return the phase a run without a first step was in when it was last seen."""
    if fill is not None and not fill.is_done:
        return "shuffle_fill"
    begin_s = _last_row_s(process, until_s)
    doing = _most(timed_stacks(process, begin_s, until_s, wanted=lambda *_: True), sums.locate)
    if loop is None or doing in ("tracing", "first_batch"):
        return doing or "other"
    if (
        loop.input in ("tf.data", "generator", "pydataset", "arrays")
        and sums.seconds["first_batch"]
    ):
        return "first_batch"
    return "first_step"


def _last_row_s(process: ProcessRecording, until_s: float) -> float:
    """Return where the time of the last samples begins: those before it were of something else."""
    times = {row["at_s"] for row in process.rows("samples") if row["at_s"] > until_s - LAST_SEEN_S}
    return sorted(times)[-2] if len(times) > 1 else until_s - LAST_SEEN_S


def _most(stacks: Iterable[TimedStack], locate: Locate) -> str:
    seconds: dict[str, float] = defaultdict(float)
    for stack in stacks:
        seconds[activity(stack.frames, locate).name] += stack.seconds
    return max(seconds, key=lambda name: seconds[name], default="")


def _phase(name: str, sums: _Sums, fill: Fill | None) -> PhaseTime:
    location, detail = sums.location(name), ""
    if name == "shuffle_fill" and fill is not None:
        location = sums.locate(fill.file, fill.line)
        of = "" if fill.is_done or not fill.size else f" of {fill.size:,}"
        detail = f"{fill.elements:,}{of} elements"
    return PhaseTime(name, sums.seconds[name], location, detail)
