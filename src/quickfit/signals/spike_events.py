"""Events that are timed or counted by themselves, and that slow steps may coincide with.

Traces, saves, and looks at the model: by calls of Keras or by a loop of the script.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections import Counter
from collections.abc import Callable

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.loops import Call
from quickfit.signals.saves import SAVERS
from quickfit.signals.spike_stacks import Seen, part_of, sampled
from quickfit.signals.spike_windows import MAX_CHANCE, at_least
from quickfit.signals.spikes import MIN_EXPLAINED, Reason, Spikes
from quickfit.signals.whole import LOOKS
from quickfit.source.keywords import calls_named, line_of

# A trace takes at least this share of a slow step that it explains: what was traced is optimised
# and compiled when it first runs, which may take many times as long.
MIN_TRACED = 0.05
# A call explains slow steps where it takes as long, and there are about as many of them.
MIN_AS_LONG, MAX_MORE_CALLS = 0.5, 1.6


def retraces(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return the function that is traced in the slow steps."""
    traces = [t for t in signals.traces if t.is_in_loop and not t.is_nested]
    times = [trace.at_s for trace in traces]
    hits, explained_s, codes = 0, 0.0, Counter[tuple[object, ...]]()
    for spike in spikes.spikes:
        first = bisect.bisect_left(times, spike.begin_s)
        inside = traces[first : bisect.bisect_right(times, spike.end_s)]
        if sum(trace.duration_s for trace in inside) >= MIN_TRACED * spike.extra_s:
            hits, explained_s = hits + 1, explained_s + spike.extra_s
            codes[max(inside, key=lambda t: t.duration_s).code] += 1
    kept_s = sum(spike.extra_s for spike in spikes.spikes)
    if not hits or explained_s < MIN_EXPLAINED * kept_s:
        return None
    if at_least(hits, len(spikes.spikes), _traced_by_chance(signals, times, spikes)) > MAX_CHANCE:
        return None
    trace = next(trace for trace in traces if trace.code == codes.most_common(1)[0][0])
    begin_s, end_s = signals.steps.begin_s, signals.steps.end_s
    events = sum(trace.count for trace in traces if begin_s <= trace.at_s <= end_s)
    where = trace.caller or trace.location or signals.loop.location
    share, how = explained_s / kept_s, "the time of every trace is noted"
    return Reason("retrace", hits, len(spikes.spikes), share, how, events, trace.name, where)


def _traced_by_chance(signals: Signals, times: list[float], spikes: Spikes) -> float:
    """Return how likely a trace falls into a slow step if they have nothing to do with it."""
    steps = signals.steps
    inside = bisect.bisect_right(times, steps.end_s) - bisect.bisect_left(times, steps.begin_s)
    slow = sum(
        bisect.bisect_right(times, spike.end_s) - bisect.bisect_left(times, spike.begin_s)
        for spike in spikes.spikes
    )
    slow_s = sum(spike.end_s - spike.begin_s for spike in spikes.spikes)
    per_s = (inside - slow) / max(steps.end_s - steps.begin_s - slow_s, 1e-9)
    return 1 - math.exp(-per_s * slow_s / len(spikes.spikes))


def saves(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return the line that saves a model in the slow steps."""
    return _called(signals, spikes, seen, "save", lambda call: call.kind == "save")


def looks(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return the line that evaluates the model, or predicts, in the slow steps."""
    head = signals.loop.facts.get("head")
    found = _called(
        signals, spikes, seen, "look", lambda call: call.kind in LOOKS and call.kind != head
    )
    return found or _looking_loop(signals, spikes)


def _looking_loop(signals: Signals, spikes: Spikes) -> Reason | None:
    """Return the script's own loop that looks at the model in the slow steps."""
    rows = signals.process.rows("steps")
    for loop in signals.loops:
        if loop.trains or loop.id == signals.loop.id:
            continue
        spans = [(row["begin_s"], row["end_s"]) for row in rows if row["loop"] == loop.id]
        inside_s = [sum(slow_s) for slow_s in _shared(spans, spikes)]
        hits = sum(s >= MIN_EXPLAINED * spike.extra_s
                   for s, spike in zip(inside_s, spikes.spikes, strict=True))  # fmt: skip
        share = sum(inside_s) / sum(spike.extra_s for spike in spikes.spikes)
        if share >= MIN_EXPLAINED and hits >= MIN_EXPLAINED * len(spikes.spikes):
            how = "the steps of that loop are timed as well"
            times = (hits, len(spikes.spikes), min(share, 1.0), how)
            return Reason("look", *times, where=loop.location, part="validation")
    return None


def _shared(spans: list[tuple[float, float]], spikes: Spikes) -> list[list[float]]:
    """Return, for each slow step, what spans have in common with it."""
    begins = [begin_s for begin_s, _ in spans]
    found = []
    for spike in spikes.spikes:
        first = max(bisect.bisect_right(begins, spike.begin_s) - 1, 0)
        inside = spans[first : bisect.bisect_left(begins, spike.end_s)]
        found.append([max(min(b, spike.end_s) - max(a, spike.begin_s), 0.0) for a, b in inside])
    return found


def _called(
    signals: Signals, spikes: Spikes, seen: list[Seen], kind: str, is_one: Callable[[Call], bool]
) -> Reason | None:
    """Return a line whose calls are in the slow steps: seen there, or as many and as long."""
    if spikes.part_share("call") + spikes.part_share("wait") >= MIN_EXPLAINED:
        return None  # the time is in the train step itself
    calls = [c for c in signals.calls if c.calls and is_one(c) and c.loop in (signals.loop.id, 0)]
    found = sampled(signals, spikes, seen, kind)
    if found is not None:
        count = sum(call.calls for call in calls) or None
        where = _saver(signals) if kind == "save" else None
        return dataclasses.replace(found, events=count, where=where or found.where)
    # What `fit` saves at the end of epochs is in no step.
    if kind == "save" and signals.whole_time.saves_in_steps_s < MIN_EXPLAINED * spikes.extra_s:
        return None
    each_s = spikes.extra_s / spikes.count
    for call in calls:
        mean_s = call.wall_s / call.calls
        is_many = spikes.count <= MAX_MORE_CALLS * call.calls
        is_few = call.calls <= MAX_MORE_CALLS * spikes.count + 1
        if is_many and is_few and mean_s >= MIN_AS_LONG * each_s:
            hits = min(call.calls, spikes.count)
            how = "there are as many calls as slow steps, and they take as long"
            share = min(call.wall_s / spikes.extra_s, 1.0)
            where = _saver(signals) if kind == "save" else None
            told = Reason(kind, hits, spikes.count, share, how, call.calls, part=part_of(spikes))
            return dataclasses.replace(told, where=where or call.location)
    return None


def _saver(signals: Signals) -> Location | None:
    """Return the line that makes Keras's own callback that saves, where it can be only one."""
    names = {time.name for time in signals.callbacks}.intersection(SAVERS)
    files = sorted({row["file"] for row in signals.process.rows("sources")})
    texts = {file: signals.source_text(file) for file in files}
    found = [(file, call) for file in texts for call in calls_named(texts[file], *names)]
    return signals.location(found[0][0], line_of(found[0][1])) if len(found) == 1 else None
