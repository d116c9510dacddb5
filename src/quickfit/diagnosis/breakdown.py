"""Where the time of the steps went, as parts that add up."""

from __future__ import annotations

from quickfit.errors import SignalMissing
from quickfit.findings import Breakdown, BreakdownPart
from quickfit.signals import Signals
from quickfit.signals.steps import Steps

LABELS = {
    "input_wait": "waiting for input",
    "tracing": "tracing",
    "step": "the train step",
    "callbacks": "callbacks",
    "between": "between steps",
    "validation": "validation",
    "epoch_ends": "between epochs",
}


def breakdown(signals: Signals) -> Breakdown | None:
    """Return the parts of the step time; None where hardly a step was seen."""
    try:
        steps = signals.all_steps
    except SignalMissing:
        return None
    if steps is None or not steps.steps:
        return None
    seconds = _seconds(signals, steps)
    whole = signals.whole_time
    seconds |= {
        "validation": whole.validation_s / len(steps.steps),
        "epoch_ends": whole.between_s / len(steps.steps),
    }
    whole_s = whole.total_s / len(steps.steps)
    parts = tuple(
        BreakdownPart(name, LABELS[name], value, value / whole_s if whole_s else 0.0)
        for name, value in seconds.items()
    )
    return Breakdown(
        steps=len(steps.steps),
        step_s=steps.median_s,
        step_spread_s=steps.spread_s,
        warmup_steps=steps.warmup,
        parts=parts,
        time_to_first_step_s=_time_to_first_step(signals),
    )


def _seconds(signals: Signals, steps: Steps) -> dict[str, float]:
    """Return the mean seconds per step of each part."""
    callbacks_s = steps.mean_of("callbacks_s")
    call_s = steps.mean_of("call_s")
    between_s = max(steps.mean_s - call_s - callbacks_s, 0.0)
    traced_s = min(signals.traced_s(steps.begin_s, steps.end_s) / len(steps.steps), steps.mean_s)
    try:
        wait_s: float | None = min(signals.wait.step_s, call_s)
    except SignalMissing:
        wait_s = None  # then it stays inside the step, and no share is claimed for it
    # A trace in a callback belongs to the callback; only one inside the call is taken from it.
    step_s = max(call_s - (wait_s or 0.0), 0.0)
    parts = {"step": step_s, "callbacks": callbacks_s, "between": between_s}
    if wait_s is not None:
        parts = {"input_wait": wait_s, **parts}
    if traced_s > 0:
        place = "callbacks" if callbacks_s > traced_s and step_s < traced_s else "step"
        taken = min(traced_s, parts[place])
        parts = {**parts, place: parts[place] - taken, "tracing": taken}
    return parts


def _time_to_first_step(signals: Signals) -> float | None:
    started, ended = signals.process.facts.get("started_s"), signals.loop.first_step_s
    if ended is None or not isinstance(started, int | float):
        return None
    return ended - float(started)
