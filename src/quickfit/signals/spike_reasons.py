"""What slow steps coincide with: the one kind of event that explains most of their time.

A kind of event is believed where it explains half of the slow steps' time or more, happened in
most of them, and does not happen as often without a slow step.
"""

from __future__ import annotations

import dataclasses

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.loops import CallbackTime
from quickfit.signals.spike_events import looks, retraces, saves
from quickfit.signals.spike_input import input_reason
from quickfit.signals.spike_machine import (
    collecting_reason,
    computes,
    kept_waiting_reason,
    machine_reason,
)
from quickfit.signals.spike_stacks import Seen, sampled, seen_in
from quickfit.signals.spikes import MIN_EXPLAINED, Reason, Spikes

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
