"""Where the time before the first step went: phases that add up, and the wait for a batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from quickfit.findings import Location
from quickfit.pipeline_model.snapshot import Node, Snapshot, snapshot_from_row
from quickfit.pipeline_model.stages import kind_of
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.input import training_iterators
from quickfit.signals.loops import Locate, Loop
from quickfit.signals.stacks import Activity, Frame, TimedStack, activity, is_in_fit, timed_stacks
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


# Snapshots are half a second apart; one soon after the first step still tells what led to it.
AFTER_S = 1.5


@dataclass(frozen=True)
class Fill:
    """A shuffle that filled its buffer before it gave the first element.

    `end_s` is when it was full, or was last seen; `size` is what it takes, zero if unknown.
    """

    end_s: float
    elements: int
    size: int
    is_done: bool
    file: str | None = None
    line: int | None = None


def shuffle_fill(
    process: ProcessRecording, loop: int, span: tuple[float, float], wait_s: float
) -> Fill | None:
    """Return the fill of the largest shuffle between the first request and the first step.

    Args:
        process: where it was recorded.
        loop: the loop it feeds.
        span: from the first request of a batch to the end of the first step.
        wait_s: how long the first batch was waited for in all.
    """
    begin_s, end_s = span
    series = _first_series(process, loop, end_s)
    points = [(snapshot.at_s, node) for snapshot in series if (node := _shuffle(snapshot))]
    filling = [(at_s, node) for at_s, node in points if not node.elements and node.buffered]
    filling = [(at_s, node) for at_s, node in filling if at_s > begin_s]
    written = _written_shuffle(process, loop)
    size = int(written.get("facts", {}).get("buffer_size") or 0)
    place = (written.get("file"), written.get("line"))
    if not filling:
        share, elements = _filled(series)
        if not elements:
            return None
        return Fill(begin_s + share * wait_s, elements, size, True, *place)
    most = max(node.buffered for _, node in points)
    later = [at_s for at_s, node in points if node.elements]
    # A dataset that is smaller than the buffer ends the fill.
    goal = most if later else max(size, most)
    full_s = _full_s([(begin_s, 0), *((s, n.buffered) for s, n in filling)], goal)
    is_done = full_s < end_s or bool(later)
    elements = goal if is_done else filling[-1][1].buffered
    return Fill(max(min([full_s, end_s, *later]), begin_s), elements, size, is_done, *place)


def _filled(series: list[Snapshot]) -> tuple[float, int]:
    """Return the share of the first wait that a fill took which nobody saw, and its elements.

    All that the buffer holds, and what the first batch takes, had to be made first.
    """
    for snapshot in series:
        node, outputs = _shuffle(snapshot), snapshot.nodes[snapshot.root].elements
        if node is not None and node.elements and outputs:
            return node.buffered / (node.buffered + node.elements / outputs), node.buffered
    return 0.0, 0


def _full_s(points: list[tuple[float, int]], goal: int) -> float:
    """Return when a buffer reached its goal, at the rate it grew before."""
    points = [point for n, point in enumerate(points) if not n or point[0] > points[0][0]]
    for at_s, count in points:
        if count >= goal:
            return at_s
    (last_s, last), (before_s, before) = points[-1], points[-2] if len(points) > 1 else points[0]
    rate = (last - before) / (last_s - before_s) if last_s > before_s else 0.0
    return last_s + (goal - last) / rate if rate > 0 else float("inf")


def until_first_batch_s(
    process: ProcessRecording, loop: int, begin_s: float, end_s: float
) -> float:
    """Return how long the first request waited, the fill of a shuffle included.

    What one batch costs in the model, kept within what the snapshots allow: none had come at the
    one, some had at the other.
    """
    series = _first_series(process, loop, end_s)
    # Where no stage has begun, nothing was asked for yet.
    empty_s = [
        s.at_s
        for s in series
        if s.at_s <= end_s
        and not s.nodes[s.root].elements
        and any(node.elements or node.work_s for node in s.nodes.values())
    ]
    some = [s for s in series if s.nodes[s.root].elements]
    lowest_s = max([0.0, *(at_s - begin_s for at_s in empty_s)])
    highest_s = min([end_s, *(s.at_s for s in some)]) - begin_s
    batch_s = _made_s(some[0]) if some else _python_batch_s(process, loop)
    return max(min(max(batch_s, lowest_s), highest_s), 0.0)


def _first_series(process: ProcessRecording, loop: int, end_s: float) -> list[Snapshot]:
    """Return the snapshots of a loop's first iterator up to shortly after a moment."""
    iterators = training_iterators(process, loop)
    rows = [
        row
        for row in process.rows("pipelines")
        if row["iterator"] in iterators and row["at_s"] <= end_s + AFTER_S
    ]
    first = min((row["iterator"] for row in rows), default=None)
    series = [snapshot_from_row(row) for row in rows if row["iterator"] == first]
    return [snapshot for snapshot in series if snapshot.root in snapshot.nodes]


def _shuffle(snapshot: Snapshot) -> Node | None:
    """Return the shuffle that holds the most elements."""
    nodes = (n for n in snapshot.nodes.values() if kind_of(n.name).startswith("shuffle"))
    return max(nodes, key=lambda node: node.buffered, default=None)


def _made_s(snapshot: Snapshot) -> float:
    """Return how long the first batch takes to be made: the fill of a shuffle, then each stage."""
    outputs = snapshot.nodes[snapshot.root].elements
    shuffle = _shuffle(snapshot)
    above = set(_above(snapshot, shuffle.inputs)) if shuffle else set()
    held = shuffle.buffered / (shuffle.elements + shuffle.buffered or 1) if shuffle else 0.0
    work_s = {
        n: node.work_s / max(node.parallelism or 1.0, 1.0) for n, node in snapshot.nodes.items()
    }
    fill_s = max((held * work_s[n] for n in above), default=0.0)
    passed = {n: 1.0 - held if n in above else 1.0 for n in work_s}
    return fill_s + sum(work_s[n] * passed[n] / outputs for n in work_s)


def _above(snapshot: Snapshot, numbers: Iterable[int]) -> Iterable[int]:
    for number in numbers:
        if number in snapshot.nodes:
            yield number
            yield from _above(snapshot, snapshot.nodes[number].inputs)


def _python_batch_s(process: ProcessRecording, loop: int) -> float:
    """Return what one batch of a Python input takes, where tf.data has no model of it."""
    rows = [r for r in process.rows("py_inputs") if r["loop"] == loop and r["batches"]]
    return rows[0]["wall_s"] / rows[0]["batches"] if rows else 0.0


def _written_shuffle(process: ProcessRecording, loop: int) -> dict[str, Any]:
    """Return the largest shuffle the user wrote for a loop's first pipeline."""
    iterators = training_iterators(process, loop)
    known = {row["id"]: row for row in process.rows("datasets")}
    waiting = [iterators[min(iterators)]] if iterators else []
    seen: dict[int, dict[str, Any]] = {}
    while waiting:
        row = known.get(waiting.pop())
        if row is not None and row["id"] not in seen:
            seen[row["id"]] = row
            waiting.extend(row["inputs"])
    shuffles = [row for row in seen.values() if "shuffle" in row["kind"].lower()]
    return max(shuffles, key=lambda row: row["facts"].get("buffer_size") or 0, default={})
