"""What is said of a run that gets slower as it goes on: with a cause, or honestly without one."""

from __future__ import annotations

from quickfit import units
from quickfit.diagnosis.outcome import run_outcome
from quickfit.errors import SignalMissing
from quickfit.findings import Finding, Symptom
from quickfit.signals import Signals
from quickfit.signals.drift import Component, Slowdown
from quickfit.signals.drift_told import certain, slower

# A run that got slower by less is told of in a note; its verdict is another.
MIN_HEADLINE_GROWTH = 0.3
# Parts in words, for a run that is slower by no known cause.
WORDS = {
    "callbacks": "callbacks",
    "wait": "waiting for input",
    "call": "the train step",
    "between": "Python between steps",
    "input": "making a batch",
    "stage_work": "the input pipeline's work",
    "collecting": "the garbage collector",
    "steps": "its steps",
    "start": "its first step",
    "after": "what follows its steps",
    "validation": "validation",
}
# Parts that were looked at are told if they are this share of the step.
MIN_TOLD = 0.05


def slowdown(signals: Signals) -> Slowdown | None:
    """Return how a run slowed down; None where it did not, or had too few steps to tell."""
    try:
        return signals.slowdown
    except SignalMissing:
        return None


def headline(first: Finding, signals: Signals) -> str:
    """Return the verdict on a run whose first finding makes it slower and slower."""
    slow = slowdown(signals)
    if slow is None or slow.why != "part":
        return f"slowing down: {first.summary}"
    grown = f"{units.share(slow.share)} of the growth: {first.summary}"
    is_running = run_outcome(signals.recording).text == "running"
    when = f" ({certain(slow)})" if is_running else ""
    return f"slowing down: {slower(slow)}; {grown}{when}"


def unexplained(signals: Signals) -> str:
    """Return the verdict on a run that slowed down much and in which no cause was found."""
    slow = slowdown(signals)
    if slow is None or slow.last_s < (1 + MIN_HEADLINE_GROWTH) * slow.first_s:
        return ""
    if slow.why == "data":
        return ""
    text = f"{slower(slow)}; {_measured(slow)}"
    if slow.why == "machine":
        return f"slower by the machine's load, not by the script: {text}"
    return f"slower, cause unknown: {text}"


def notes(signals: Signals, findings: list[Finding]) -> tuple[str, ...]:
    """Say that a run slowed down where the verdict is about something else."""
    slow = slowdown(signals)
    if slow is None or any(f.symptom == Symptom.SLOWING_DOWN for f in findings[:1]):
        return ()
    measured = {one.name: one for one in slow.measured}
    text = f"It got slower: {slower(slow)}"
    if slow.why == "data" and "batch_bytes" in measured:
        size = measured["batch_bytes"]
        grown = f"{units.size(size.first)} at first, {units.size(size.last)} at the end"
        per_byte = (slow.last_s / size.last) / (slow.first_s / size.first)
        told = "the time per byte is not longer" if per_byte <= 1.2 else "longer ones cost more"
        return (f"{text}, because the batches grow: {grown}; {told}.",)
    if slow.why == "machine":
        return (f"{text}, by the machine's load: {_load(measured)}.",)
    return (f"{text}; {_measured(slow)}.",)


def _load(measured: dict[str, Component]) -> str:
    others, delay = measured.get("others"), measured.get("delay")
    found = []
    if others is not None:
        found.append(f"other programs used {others.first:.1f} cores, then {others.last:.1f}")
    if delay is not None and delay.growth > 0:
        first, last = units.seconds(delay.first), units.seconds(delay.last)
        found.append(f"a step stood in line for a core for {first}, then {last}")
    return "; ".join(found) or "a CPU limit"


def _measured(slow: Slowdown) -> str:
    if slow.why == "machine":
        return _load({one.name: one for one in slow.measured})
    told = [
        f"{WORDS[one.name]} {units.seconds(one.first)}, then {units.seconds(one.last)}"
        for one in slow.measured
        if one.name in WORDS and max(one.first, one.last) >= MIN_TOLD * slow.last_s
    ]
    return "measured: " + ("; ".join(told) if told else "no part of it by itself")
