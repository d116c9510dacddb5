"""What slow steps coincide with: the one kind of event that explains most of their time."""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from quickfit.causes.spikes.spikes.machine import (
    collecting_reason,
    computes,
    kept_waiting_reason,
    machine_reason,
)
from quickfit.causes.spikes.spikes.windows import (
    MAX_CHANCE,
    Seen,
    Windows,
    at_least,
    fitted,
    part_of,
    sampled,
    seen_in,
    seen_in_input,
)
from quickfit.code.lines import calls_named, line_of_call
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.pipeline_model.snapshot import Snapshot
from quickfit.pipeline_model.stages import kind_of
from quickfit.signals import input as inputs
from quickfit.signals._facade import Signals
from quickfit.signals.around_steps import SAVERS
from quickfit.signals.loops import Call, CallbackTime
from quickfit.signals.spikes import MIN_EXPLAINED, MIN_SPIKES, Reason, Spike, Spikes
from quickfit.signals.steps import LOOKS

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
    return signals.location(found[0][0], line_of_call(found[0][1])) if len(found) == 1 else None


# The share of the slow steps that tf.data must tell something about.
MIN_MEASURED = 0.3
# A shuffle that takes in this share of what it can hold, within one reading, refills.
MIN_REFILLED = 0.3


@dataclass(frozen=True)
class _Waited:
    """The share of the slow steps' time that is waiting, and of how many steps that is known."""

    share: float
    hits: int
    measured: int
    how: str


def input_reason(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return that slow steps wait for input, and for what of it."""
    waited = _waited(signals, spikes, seen)
    if waited is None or waited.share < MIN_EXPLAINED:
        return None
    if waited.hits < MIN_EXPLAINED * waited.measured:
        return None
    kind, name, where = "input", "", None
    if _refills(signals, spikes):
        kind, where = "shuffle", signals.shuffle.location if signals.shuffle else None
    cached = _cache_filled(signals, spikes) if where is None else None
    if cached is not None:
        kind, where = "cache", cached
    if where is None:
        name, where = _source(signals, spikes)
    told = (waited.hits, waited.measured, waited.share, waited.how)
    return Reason(kind, *told, name=name, where=where or signals.loop.location, part="input_wait")


def _waited(signals: Signals, spikes: Spikes, seen: list[Seen]) -> _Waited | None:
    """Return how much of the slow steps is waiting: by the clock, by tf.data, or by samples."""
    timed = spikes.part_share("wait")
    if timed >= MIN_EXPLAINED:
        hits = sum(spike.part == "wait" for spike in spikes.spikes)
        return _Waited(timed, hits, len(spikes.spikes), "the script's own calls for a batch")
    found = _by_pipeline(signals, spikes)
    if found is not None:
        return found
    waits = next((one for one in seen if one.kind == "wait"), None)
    if waits is None or waits.coincidence.is_by_chance:
        return None
    hits, measured = waits.coincidence.hits, waits.coincidence.spikes
    return _Waited(waits.share, hits, measured, f"{waits.samples:.0f} samples in slow steps")


def _by_pipeline(signals: Signals, spikes: Spikes) -> _Waited | None:
    """Return the wait as tf.data saw it: its consumer's gaps are what was not waiting."""
    readings = _readings(signals, spikes)
    inside = [reading for reading in readings if reading.spikes]
    measured = sum(reading.spikes for reading in inside)
    if measured < max(MIN_SPIKES, MIN_MEASURED * len(spikes.spikes)):
        return None
    rates = fitted(
        *([getattr(r, name) for r in readings] for name in ("rest_s", "slow_s", "wait_s"))
    )
    # Where all readings are alike, the wait may be of slow steps only if it is no longer.
    slow_s = sum(reading.slow_s for reading in inside)
    usual = rates[0] if rates else 0.0
    if rates is None and sum(reading.wait_s for reading in readings) > 1.5 * slow_s:
        return None
    waited = [max(min(r.wait_s - usual * r.rest_s, r.slow_s), 0.0) for r in inside]
    hits = sum(
        reading.spikes
        for reading, wait_s in zip(inside, waited, strict=True)
        if wait_s >= MIN_EXPLAINED * reading.slow_s
    )
    return _Waited(sum(waited) / slow_s, hits, measured, "tf.data's own model of the pipeline")


@dataclass(frozen=True)
class _Reading:
    """The steps between two readings of tf.data's model, and what of them was waiting."""

    spikes: int
    slow_s: float
    rest_s: float
    wait_s: float


def _readings(signals: Signals, spikes: Spikes) -> list[_Reading]:
    iterators = inputs.training_iterators(signals.process, signals.loop.id)
    slow = {spike.end_s: spike.extra_s for spike in spikes.spikes}
    steps, found = signals.steps.steps, []
    ends = [step.end_s for step in steps]
    for row in signals.process.rows("pipelines"):
        if row["iterator"] not in iterators or row["gaps"] < 1:
            continue
        count = max(round(row["gaps"] / signals.steps_per_execution), 1)
        last = bisect.bisect_right(ends, row["at_s"])
        recent = steps[max(last - count, 0) : last]
        # The first request of an iterator has no gap before it.
        if len(recent) < count or any(step.is_first_of_epoch for step in recent):
            continue
        took_s = sum(step.cycle_s for step in recent)
        extra = [slow[step.end_s] for step in recent if step.end_s in slow]
        wait_s = max(took_s - row["gap_s"], 0.0)
        found.append(_Reading(len(extra), sum(extra), took_s - sum(extra), wait_s))
    return found


def _refills(signals: Signals, spikes: Spikes) -> bool:
    """Tell whether a shuffle takes in much at once where steps are slow, and nowhere else."""
    spans: list[tuple[float, float]] = []
    grown: list[bool] = []
    for series in inputs.snapshots_of(signals.process, signals.loop.id).values():
        held = [_held(snapshot) for snapshot in series]
        most = max(held, default=0)
        for number in range(1, len(series)):
            spans.append((series[number - 1].at_s, series[number].at_s))
            grown.append(held[number] - held[number - 1] > MIN_REFILLED * max(most, 1))
    return _coincide(spans, grown, spikes.spikes)


def _held(snapshot: Snapshot) -> int:
    """Return how many elements the shuffles of a pipeline hold."""
    nodes = snapshot.nodes.values()
    return sum(node.buffered for node in nodes if kind_of(node.name).startswith("shuffle"))


def _coincide(
    spans: list[tuple[float, float]], happened: list[bool], spikes: tuple[Spike, ...]
) -> bool:
    if not any(happened):
        return False
    found = Windows(spans, spikes).coincidence(happened)
    return found.hit_share >= MIN_EXPLAINED and not found.is_by_chance


def _cache_filled(signals: Signals, spikes: Spikes) -> Location | None:
    """Return the cache that is filled while steps are slow: in the first epoch, and not later."""
    steps = signals.steps.steps
    slow = {steps[spike.number - 1].epoch for spike in spikes.spikes}
    if slow != {steps[0].epoch} or steps[-1].epoch == steps[0].epoch:
        return None
    return next((stage.location for stage in _stages(signals) if stage.kind == "cache"), None)


def _source(signals: Signals, spikes: Spikes) -> tuple[str, Location | None]:
    """Return the line of the input that slow steps wait for, and a name for it."""
    lines = [one for one in seen_in_input(signals, spikes) if one.location is not None]
    if lines:
        return "", lines[0].location
    placed = [stage for stage in _stages(signals) if stage.location is not None]
    slowest = max(placed, key=lambda stage: stage.work_s, default=None)
    return (slowest.kind, slowest.location) if slowest else ("", None)


def _stages(signals: Signals) -> list[inputs.Stage]:
    try:
        return signals.stages
    except SignalMissing:  # then the line is not known, and the wait is measured all the same
        return []


# No compilation is shorter, and none is less than so many times a step.
MIN_COMPILE_S, RECOMPILED = 0.2, 10.0
# Compiling uses the CPU, perhaps one core where the step uses several.
MIN_COMPILE_CORES = 0.3


def reason(signals: Signals, spikes: Spikes) -> Reason | None:
    """Return what the slow steps coincide with; None where nothing measured does."""
    seen = seen_in(signals, spikes)
    for find in _KINDS:
        found = find(signals, spikes, seen)
        if found is not None:
            return found
    return None


def _collects(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return the line that asks for a collection of garbage in the slow steps."""
    return sampled(signals, spikes, seen, "collect")


def _code(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return the Python code that slow steps run: of a callback, or of the script between steps."""
    for kind, part in (("callback", "callbacks"), ("line", "between")):
        timed = spikes.part_share(part)
        named = [one for one in seen if one.kind == kind]
        # Between steps the script may as well call TensorFlow, at another line than usual.
        line = next(iter((*named, *(seen if kind == "line" else ()))), None)
        if timed >= MIN_EXPLAINED:
            hits = sum(spike.part == part for spike in spikes.spikes)
            known = sum(spike.part != "" for spike in spikes.spikes)
            told = Reason(kind, hits, known, timed, "by the clock, part by part", part=part)
            return _placed(signals, told, line)
        if not spikes.is_timed:
            found = sampled(signals, spikes, seen, kind)
            if found is not None:
                return dataclasses.replace(found, part=part)
    return None


def _placed(signals: Signals, found: Reason, line: Seen | None) -> Reason:
    """Return code with the line most samples in slow steps are at, and its callback's name."""
    where = line.location if line else None
    callback = _callback(signals, where) if found.kind == "callback" else None
    if callback is not None and (where is None or where == signals.loop.location):
        where = callback.location
    name = f"{callback.name}.{callback.hook}" if callback is not None else ""
    if line is not None:
        # While C code holds Python's lock, as the collector does, it is seldom seen.
        kind = "collect" if line.kind == "collect" else found.kind
        found = dataclasses.replace(found, kind=kind, sampled=line.share, samples=line.samples)
        # In a loop of the script not every step is timed part by part.
        if line.coincidence.spikes > found.measured:
            hits, measured = line.coincidence.hits, line.coincidence.spikes
            found = dataclasses.replace(found, hits=hits, measured=measured)
    return dataclasses.replace(found, where=where or signals.loop.location, name=name)


def _callback(signals: Signals, where: Location | None) -> CallbackTime | None:
    """Return the callback that a line is in; of Keras's own there are no lines."""
    own = [time for time in signals.callbacks if time.location is not None]
    if where is None:
        return next(iter((*own, *signals.callbacks)), None)
    if where == signals.loop.location:
        others = [time for time in signals.callbacks if time.location is None]
        return next(iter(others), None)
    above = [
        (time.location.line, time)
        for time in own
        if time.location is not None
        and time.location.file == where.file
        and time.location.line <= where.line
    ]
    return max(above, key=lambda pair: pair[0])[1] if above else next(iter(own), None)


def _collecting(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    return collecting_reason(signals, spikes)


def _seen_code(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return code that the clock and the samples agree on."""
    found = _code(signals, spikes, seen)
    return found if found is not None and (found.sampled or 0.0) >= MIN_EXPLAINED else None


def _other_code(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    """Return lines that slow steps are at and others are not, such as a validation of its own."""
    return sampled(signals, spikes, seen, "other")


def _kept_waiting(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    return kept_waiting_reason(signals, spikes)


def _rest(signals: Signals, spikes: Spikes, seen: list[Seen]) -> Reason | None:
    return machine_reason(signals, spikes) or _compiles(signals, spikes)


def _compiles(signals: Signals, spikes: Spikes) -> Reason | None:
    """Return that XLA compiles again: its steps are slow in the call, for no other reason."""
    share = spikes.part_share("call")
    is_long = spikes.factor > RECOMPILED and spikes.extra_s / spikes.count > MIN_COMPILE_S
    if not signals.loop.facts.get("jit_compile") or share < MIN_EXPLAINED or not is_long:
        return None
    if not computes(signals, spikes, MIN_COMPILE_CORES):
        return None
    hits = sum(spike.part == "call" for spike in spikes.spikes)
    how = "XLA compiles anew for other shapes"
    where = signals.location(
        signals.loop.facts.get("compile_file"), signals.loop.facts.get("compile_line")
    )
    return Reason("compile", hits, len(spikes.spikes), share, how, where=where, part="tracing")


# What happens by itself comes before the code it happens in; then what is seen, and on a busy
# machine that may well have to wait; what is told by elimination comes last.
_KINDS = (
    *(retraces, saves, looks, _collects, _collecting),
    *(_seen_code, _other_code, _kept_waiting, input_reason, _code, _rest),
)
