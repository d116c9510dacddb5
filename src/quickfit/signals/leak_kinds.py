"""What memory grows by: kept graphs, rebuilt models, or another known kind that explains it."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit.code.keras_models import line_that_builds
from quickfit.errors import SignalMissing
from quickfit.findings import Exhaustion, Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.caching import element_growth, filling_cache, growing_buffers
from quickfit.signals.holders import Holder, HolderGrowth, growing_holder, kept
from quickfit.signals.keras_calls import fit_calls
from quickfit.signals.leaks import (
    Leak,
    device_leak,
    memory_leak,
    per_batch,
    pools_bytes,
    rate_interval,
)
from quickfit.signals.memory import Growth, inside, memory_limit, own_points, time_left_s
from quickfit.signals.traces import Trace

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# What explains at least half of a growth is what grows.
MIN_SHARE = 0.5
# Batches that got so much larger need more memory themselves.
MIN_LARGER = 1.2


def leak_with_kind(signals: Signals) -> Leak | None:
    """Return the memory that goes on growing, with what grows; None where none does.

    Where the memory of the process swings too much to tell, what a name of the script holds tells.

    Raises:
        SignalMissing: there are too few readings, and the script's names were not looked at.
    """
    held = growing_holder(signals)
    try:
        leak = memory_leak(signals)
    except SignalMissing:
        if held is None:
            raise
        leak = None
    if leak is None:
        return _of_holder(signals, *held) if held is not None else _of_device(signals)
    for kind, explains in _KINDS.items():
        if kind not in _MEASURED and not leak.is_asked:
            # An array made before fills its pages bit by bit.
            return None if held is None else _of_holder(signals, *held)
        try:
            if kind == "models" and held is not None and _explains(held[1], leak):
                return _with_holder(leak, *held)
            if explains(signals, leak):
                return dataclasses.replace(leak, kind=kind)
        except SignalMissing:
            continue  # not measured: it may still be another kind
    # A name whose growth is counted, though pools around it grow more, says more than none.
    return leak if held is None else _of_holder(signals, *held)


def _kind(holder: Holder) -> str:
    return {"tensors": "tensors", "variables": "variable"}.get(holder.content, "")


def _explains(grown: HolderGrowth, leak: Leak) -> bool:
    return grown.growth.per_s >= MIN_SHARE * leak.growth.per_s


def _with_holder(leak: Leak, holder: Holder, grown: HolderGrowth) -> Leak:
    return dataclasses.replace(
        leak, kind=_kind(holder), holder=holder, low=grown.low, high=grown.high
    )


def _of_holder(signals: Signals, holder: Holder, grown: HolderGrowth) -> Leak:
    """Return the growth of what a name holds."""
    limit, used = memory_limit(signals.process)
    each = signals.steps_per_execution
    return Leak(
        growth=per_batch(grown.growth, signals),
        asked=None,
        limit_bytes=limit,
        in_s=time_left_s(grown.growth.per_s, limit, used),
        begin_s=holder.looks[0][0],
        kind=_kind(holder),
        holder=holder,
        process_bytes=grown.process_bytes,
        low=grown.low / each,
        high=grown.high / each,
    )


def _of_device(signals: Signals) -> Leak | None:
    """Return a growth of a GPU's memory by tensors that are kept; nothing else is told there."""
    leak = device_leak(signals)
    is_kept = leak is not None and kept(signals, "tensors") is not None
    return dataclasses.replace(leak, kind="tensors") if leak is not None and is_kept else None


def _is_data(signals: Signals, leak: Leak) -> bool:
    return (element_growth(signals) or 1.0) >= MIN_LARGER


def _is_cache(signals: Signals, leak: Leak) -> bool:
    cache = filling_cache(signals)
    grown = cache.growth if cache is not None else None
    return grown is not None and grown.per_s >= MIN_SHARE * leak.growth.per_s


def _is_buffers(signals: Signals, leak: Leak) -> bool:
    buffers = growing_buffers(signals)
    return buffers is not None and buffers.growth.per_s >= MIN_SHARE * leak.growth.per_s


def _is_models(signals: Signals, leak: Leak) -> bool:
    """Tell whether models are built in a loop: then all else grows with them."""
    calls = fit_calls(signals)
    return calls is not None and calls.calls > 1 and calls.models > 1


def _is_traces(signals: Signals, leak: Leak) -> bool:
    return kept_traces(signals, leak) is not None


def _is_tensors(signals: Signals, leak: Leak) -> bool:
    return kept(signals, "tensors") is not None


def _is_graph(signals: Signals, leak: Leak) -> bool:
    return grown_graph(signals) is not None


# Their bytes are known; allocators may ask for memory in ever larger lumps.
_MEASURED = ("data", "cache", "buffers")
_KINDS: dict[str, Callable[[Signals, Leak], bool]] = {
    "data": _is_data,
    "cache": _is_cache,
    "buffers": _is_buffers,
    "models": _is_models,
    "traces": _is_traces,
    "tensors": _is_tensors,
    "graph": _is_graph,
}


# A few traces belong to every run.
MIN_TRACES = 10
# They come all the time: at least this share of them in either half.
MIN_HALF_SHARE_OF_TRACES = 0.2
# Even a small graph is made of more of Python's memory blocks; a trace that is dropped leaves none.
MIN_BLOCKS_PER_TRACE = 200
# Of the graphs that were traced, this share is still there.
MIN_KEPT_SHARE = 0.5
# Without a trace memory grows at most at this share of the rate; else something else grows.
MAX_QUIET_SHARE = 0.5
# So many quiet readings are enough to tell.
MIN_QUIET = 6
# A graph that is added to in every step gains so many operations at least.
MIN_OPERATIONS = 50
MIN_OPERATIONS_PER_STEP = 0.5


@dataclass(frozen=True)
class KeptTraces:
    """Traces while memory grew, and what is left of them.

    Args:
        traces: how many there were.
        name: the function that was traced most often.
        location: where it is written; None inside a library.
        caller: the user's line that called it most often.
        functions: how many function objects it had.
        blocks: Python's memory blocks that each left behind; None where that was not counted.
        graphs: growth of the number of graphs alive; None where nobody counted twice.
    """

    traces: int
    name: str
    location: Location | None
    caller: Location | None
    functions: int
    blocks: float | None
    graphs: Growth | None


def kept_traces(signals: Signals, leak: Leak) -> KeptTraces | None:
    """Return the traces that memory grows with; None where it does not."""
    traces = [
        trace
        for trace in signals.traces
        if leak.begin_s <= trace.at_s <= signals.steps.end_s and not trace.is_nested
    ]
    count = sum(trace.count for trace in traces)
    if count < MIN_TRACES or not _come_all_the_time(traces, count, leak):
        return None
    blocks = signals.memory.python_blocks
    per_trace = blocks.total / count if blocks is not None else None
    graphs = signals.memory.objects.get("graphs")
    is_left = per_trace is not None and per_trace >= MIN_BLOCKS_PER_TRACE
    if not is_left or _are_dropped(graphs, traces) or _grows_without(signals, traces, leak):
        return None
    return _summary(traces, count, per_trace, graphs)


def grown_graph(signals: Signals) -> Growth | None:
    """Return the growth of operations in graphs that are not traced anew, but added to."""
    grown = signals.memory.objects.get("operations")
    if grown is None or not grown.is_steady or grown.total < MIN_OPERATIONS:
        return None
    steps = signals.steps
    is_traced = any(steps.begin_s <= trace.at_s <= steps.end_s for trace in signals.traces)
    is_often = (grown.per_step or 0.0) >= MIN_OPERATIONS_PER_STEP
    return grown if is_often and not is_traced else None


def _come_all_the_time(traces: list[Trace], count: int, leak: Leak) -> bool:
    middle_s = leak.begin_s + leak.growth.window_s / 2
    early = sum(trace.count for trace in traces if trace.at_s < middle_s)
    return min(early, count - early) >= MIN_HALF_SHARE_OF_TRACES * count


def _are_dropped(graphs: Growth | None, traces: list[Trace]) -> bool:
    """Tell whether most graphs were gone when objects were counted again."""
    if graphs is None:
        return False
    share = graphs.window_s / max(traces[-1].at_s - traces[0].at_s, 1e-9)
    made = sum(trace.count for trace in traces) * min(share, 1.0)
    return graphs.total < MIN_KEPT_SHARE * made


def _grows_without(signals: Signals, traces: list[Trace], leak: Leak) -> bool:
    """Tell whether memory grows between readings without a trace as it does with one."""
    rows = inside(signals.process.rows("machine"), signals.steps)
    points = [point for point in own_points(rows) if point[0] >= leak.begin_s]
    busy = sorted((t.at_s - t.duration_s, _first_run_s(signals, t.at_s)) for t in traces)
    begins, ends = [begin_s for begin_s, _ in busy], sorted(end_s for _, end_s in busy)
    quiet_s = quiet = 0.0
    number = 0
    for before, after in itertools.pairwise(points):
        # All that began before its end had ended before its begin.
        if bisect.bisect_left(begins, after[0]) == bisect.bisect_right(ends, before[0]):
            quiet_s += after[0] - before[0]
            quiet += after[1] - before[1]
            number += 1
    return number >= MIN_QUIET and quiet / quiet_s > MAX_QUIET_SHARE * leak.growth.per_s


def _first_run_s(signals: Signals, at_s: float) -> float:
    """Return when the step that traced had ended: its first run optimises the new graph."""
    steps = signals.steps.steps
    place = bisect.bisect_left(steps, at_s, key=lambda step: step.end_s)
    return steps[min(place + 1, len(steps) - 1)].end_s


def _summary(
    traces: list[Trace], count: int, blocks: float | None, graphs: Growth | None
) -> KeptTraces:
    numbers: Counter[tuple[object, ...]] = Counter()
    for trace in traces:
        numbers[trace.code] += trace.count
    code, _ = numbers.most_common(1)[0]
    most = [trace for trace in traces if trace.code == code]
    callers = Counter(trace.caller for trace in most)
    return KeptTraces(
        count,
        most[0].name,
        most[0].location,
        callers.most_common(1)[0][0],
        len({trace.function for trace in most}),
        blocks,
        graphs,
    )


# Each `fit` but the first traces anew: the model, or how it is compiled, is another one.
MIN_TRACED_SHARE = 0.5
# The first rounds fill the pools.
WARMUP_ROUNDS = 2
# A search of this many rounds goes on; of fewer, such as five folds, what they leave must itself
# be worth a word: they may end before it matters.
SEARCH_ROUNDS = 10
MIN_BYTES_OF_FEW = 200_000_000
# In each half of the rounds memory grows at this share of the mean rate at least.
MIN_HALF_SHARE_OF_ROUNDS = 0.4


@dataclass(frozen=True)
class Rounds:
    """Calls of `fit`, each with a model of its own, and the memory after each.

    Args:
        rounds: how many there were.
        location: the line that builds the model.
        per_round: bytes that each round leaves behind.
        low: of that, what is sure (95 %), by how much the rounds differ.
        grown: bytes over all rounds after warm-up.
        goes_on: whether it grew in both halves of the rounds.
        round_s: median time of the first third of the rounds, and of the last.
        alive: by kind, how many more objects are alive per round: models, graphs, functions.
        clears: whether the text calls `clear_session`.
    """

    rounds: int
    location: Location | None
    per_round: float
    low: float
    grown: float
    goes_on: bool
    round_s: tuple[float, float]
    alive: dict[str, float]
    clears: bool
    per_s: float

    def exhaustion(self, signals: Signals) -> Exhaustion:
        """Return what a finding says of it."""
        memory = signals.memory
        in_s = time_left_s(self.per_s, memory.limit_bytes, memory.used_bytes)
        told = ("memory", "bytes", self.grown, self.per_round, self.per_s)
        return Exhaustion(*told, memory.limit_bytes, in_s, "round")


def model_rounds(signals: Signals) -> Rounds | None:
    """Return the rounds of a script that builds a model for each; None where it builds one."""
    calls = fit_calls(signals)
    if calls is None or calls.calls < 2:
        return None
    if calls.models < 2 and calls.traced_share < MIN_TRACED_SHARE:
        return None
    place = signals.loop.location
    rows = _rows(signals.recorded_process, signals)
    levels = _levels(signals.process, rows)
    late = levels[WARMUP_ROUNDS:]
    if place is None or len(late) < 2:
        return None
    text = signals.source_text(place.file)
    builds = line_that_builds(text, place.line)
    if builds is None and calls.models < 2:
        return None  # one model that is compiled again
    grown, took_s = late[-1][1] - late[0][1], late[-1][0] - late[0][0]
    return Rounds(
        rounds=len(rows),
        location=signals.location(place.file, builds) if builds else place,
        per_round=grown / (len(late) - 1),
        low=rate_interval([(float(n), level) for n, (_, level) in enumerate(late)])[0],
        grown=grown,
        goes_on=_goes_on([level for _, level in late]),
        round_s=_round_s(rows),
        alive=_alive(signals, len(rows)),
        clears="clear_session(" in text,
        per_s=max(grown, 1.0) / max(took_s, 1e-9),
    )


def is_growing(rounds: Rounds) -> bool:
    """Tell whether what the rounds surely left behind is more than pools explain, to the last."""
    took_s = rounds.grown / rounds.per_s
    least = pools_bytes(took_s)
    if rounds.rounds < SEARCH_ROUNDS:
        least = max(least, MIN_BYTES_OF_FEW)
    sure = rounds.low * rounds.grown / rounds.per_round if rounds.per_round > 0 else 0.0
    return sure >= least and rounds.goes_on


def _rows(process: ProcessRecording, signals: Signals) -> list[dict[str, Any]]:
    where = signals.loop.location
    assert where is not None
    place = ("fit", where.file, where.line)
    return [r for r in process.rows("loops") if (r["kind"], r["file"], r["line"]) == place]


def _levels(process: ProcessRecording, rows: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return when each round ended, and the memory in use then."""
    points = own_points(process.rows("machine"))
    times = [at_s for at_s, _ in points]
    found = []
    for row in rows:
        place = bisect.bisect_left(times, row["end_s"]) if row["end_s"] is not None else len(times)
        if 0 < place < len(times):
            found.append(points[place])
    return found


def _goes_on(levels: list[float]) -> bool:
    """Tell whether both halves grew at a fair rate."""
    if len(levels) < 4:
        return False
    middle = len(levels) // 2
    mean = (levels[-1] - levels[0]) / (len(levels) - 1)
    halves = (
        (levels[middle] - levels[0]) / middle,
        (levels[-1] - levels[middle]) / (len(levels) - 1 - middle),
    )
    return mean > 0 and min(halves) >= MIN_HALF_SHARE_OF_ROUNDS * mean


def _round_s(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the median time from round to round, of the first third after warm-up and the last."""
    begins = [row["entered_s"] for row in rows][1:]
    times = [b - a for a, b in itertools.pairwise(begins)]
    third = max(len(times) // 3, 1)
    if not times:
        return 0.0, 0.0
    return statistics.median(times[:third]), statistics.median(times[-third:])


def _alive(signals: Signals, rounds: int) -> dict[str, float]:
    span_s = max(signals.steps.end_s - signals.steps.begin_s, 1e-9)
    found = {}
    for kind in ("models", "graphs", "functions", "variables"):
        grown = signals.memory.objects.get(kind)
        if grown is not None and grown.total > 0:
            found[kind] = grown.total / max(rounds * grown.window_s / span_s, 1.0)
    return found
