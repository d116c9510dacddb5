"""Where the time of the steps went, as parts that add up."""

from __future__ import annotations

import contextlib

from quickfit.errors import SignalMissing
from quickfit.findings import Breakdown, BreakdownPart, Location
from quickfit.signals import Signals
from quickfit.signals.steps import Steps

LABELS = {
    "input_wait": "waiting for input",
    "copies": "copying into tensors",
    "tracing": "tracing and compiling",
    "step": "the train step",
    "logs": "metrics and logs",
    "callbacks": "callbacks",
    "between": "Python between steps",
    "looks": "predict and evaluate calls",
    "validation": "validation",
    "checkpoint": "saving checkpoints",
    "epoch_callbacks": "callbacks at epochs",
    "iterator_ends": "ending iterators",
    "epoch_ends": "between epochs",
    "fit_calls": "between calls",
    "unattributed": "not attributed",
}
# A part this small needs no explanation.
MIN_DETAIL_SHARE = 0.05
# The line that most samples were at is named if it has this share of them.
MIN_LINE_SHARE = 0.3


def breakdown(signals: Signals) -> Breakdown | None:
    """Return the parts of the step time; None where hardly a step was seen."""
    try:
        steps = signals.all_steps
    except SignalMissing:
        return None
    if steps is None or not steps.steps:
        return None
    inside, around = _seconds(signals, steps), _around(signals, len(steps.steps))
    seconds = {**inside, **{name: s + inside.get(name, 0.0) for name, s in around.items()}}
    whole_s = signals.whole_time.total_s / len(steps.steps)
    shares = {name: value / whole_s if whole_s else 0.0 for name, value in seconds.items()}
    parts = tuple(
        BreakdownPart(
            name, _label(name, signals), value, shares[name], _detail(name, shares[name], signals)
        )
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


def _label(name: str, signals: Signals) -> str:
    return "the step" if name == "step" and not signals.loop.trains else LABELS[name]


def _seconds(signals: Signals, steps: Steps) -> dict[str, float]:
    """Return the mean seconds per step of each part of the steps."""
    callbacks_s = steps.mean_of("callbacks_s")
    call_s = steps.mean_of("call_s")
    asked_s = steps.mean_of("wait_s")
    between_s = max(steps.mean_s - call_s - callbacks_s - asked_s, 0.0)
    parts = {"step": call_s, "callbacks": callbacks_s, "between": between_s}
    try:
        wait_s = signals.wait.step_s
    except SignalMissing:
        if asked_s:  # of too few steps for conclusions, but measured
            parts = {"input_wait": asked_s, **parts}
        # Else it stays inside the step, and no share is claimed for it.
    else:
        # Where Python asks for the batch, the wait lies outside the call.
        inside_s = 0.0 if asked_s else min(wait_s, call_s)
        parts = {"input_wait": asked_s or inside_s, **parts, "step": call_s - inside_s}
    parts["logs"] = _take(parts, "step", steps.mean_of("logs_s"))
    outside_s = _take(parts, "between", signals.copies_between_s)
    inside_s = max((signals.copies_s or 0.0) - signals.copies_between_s, 0.0)
    parts["copies"] = _take(parts, "step", inside_s) + outside_s
    traced_s = min(signals.compiled_s(steps) / len(steps.steps), steps.mean_s)
    # A trace in a callback belongs to the callback; only one inside the call is taken from it.
    place = "callbacks" if callbacks_s > traced_s > parts["step"] else "step"
    parts["tracing"] = _take(parts, place, traced_s)
    parts["looks"] = _take(parts, "between", signals.whole_time.looks_in_steps_s / len(steps.steps))
    saves_s = signals.whole_time.saves_in_steps_s / len(steps.steps)
    parts["checkpoint"] = _take(parts, "callbacks" if callbacks_s else "between", saves_s)
    if signals.loop.kind != "fit":
        with contextlib.suppress(SignalMissing):  # too few steps to have been sampled
            read_s = parts["between"] * signals.metrics_share_between()
            parts["logs"] += _take(parts, "between", read_s)
            between_s = parts["between"]
            doubtful_s = max(between_s - signals.supported_between_s(), 0.0)
            parts["unattributed"] = _take(parts, "between", doubtful_s)
    measured = ("input_wait", "step", "callbacks", "between")
    return {name: value for name, value in parts.items() if value > 0 or name in measured}


def _take(parts: dict[str, float], name: str, wanted_s: float) -> float:
    taken_s = min(wanted_s, parts[name])
    parts[name] -= taken_s
    return taken_s


def _around(signals: Signals, steps: int) -> dict[str, float]:
    """Return the seconds per step of what lies between the steps."""
    whole = signals.whole_time
    spent = {
        "validation": whole.validation_s,
        "checkpoint": whole.saves_s,
        "epoch_callbacks": whole.epoch_callbacks_s,
        "iterator_ends": whole.iterator_ends_s,
        "epoch_ends": whole.epoch_ends_s,
        "fit_calls": whole.calls_s,
        "unattributed": whole.unattributed_s,
    }
    always = ("validation", "epoch_ends", "unattributed")
    return {name: value / steps for name, value in spent.items() if value > 0 or name in always}


def _detail(name: str, share: float, signals: Signals) -> str:
    """Say who spends the time of a part, where that is known."""
    if share < MIN_DETAIL_SHARE:
        return ""
    if name in ("callbacks", "epoch_callbacks"):
        times = signals.callbacks if name == "callbacks" else signals.epoch_callbacks
        slowest = times[0] if times else None
        return f"{slowest.name} {_at(slowest.location)}".strip() if slowest else ""
    if name == "checkpoint":
        saves = [c for c in signals.calls if c.kind == "save" and c.loop == signals.loop.id]
        return _at(saves[0].location) if saves else ""
    if name == "between":
        try:
            line = signals.hot_line_between()
        except SignalMissing:  # too few steps to have been sampled
            return ""
        return _at(line.location) if line and line.share >= MIN_LINE_SHARE else ""
    return ""


def _at(where: Location | None) -> str:
    return where.short if where else ""


def _time_to_first_step(signals: Signals) -> float | None:
    started, ended = signals.process.facts.get("started_s"), signals.loop.first_step_s
    if ended is None or not isinstance(started, int | float):
        return None
    return ended - float(started)
