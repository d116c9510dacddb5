"""Graphs that traces leave behind: how many there are, what each keeps, and who makes them."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.growth import Growth, inside
from quickfit.signals.leaks import Leak
from quickfit.signals.memory import own_points
from quickfit.signals.traces import Trace

# A few traces belong to every run.
MIN_TRACES = 10
# They come all the time: at least this share of them in either half.
MIN_HALF_SHARE = 0.2
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
    return min(early, count - early) >= MIN_HALF_SHARE * count


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
