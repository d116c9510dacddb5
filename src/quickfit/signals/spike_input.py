"""Slow steps that wait for input: every so many batches the next one is not there in time."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.pipeline_model.snapshot import Snapshot
from quickfit.pipeline_model.stages import kind_of
from quickfit.signals import input as inputs
from quickfit.signals._facade import Signals
from quickfit.signals.spike_stacks import Seen, seen_in_input
from quickfit.signals.spike_windows import Windows, fitted
from quickfit.signals.spikes import MIN_EXPLAINED, MIN_SPIKES, Reason, Spike, Spikes

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
