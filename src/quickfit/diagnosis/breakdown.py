"""Where the time of the steps went, as parts that add up."""

from __future__ import annotations

from quickfit.account.step_parts import doubtful_between_s, part_label, step_parts, take
from quickfit.errors import SignalMissing
from quickfit.findings import Breakdown, BreakdownPart, Location
from quickfit.signals import Signals

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
    try:
        wait_s = signals.wait.step_s
    except SignalMissing:
        wait_s = None  # it stays inside the step, and no share is claimed for it
    inside = step_parts(signals, steps, wait_s)
    doubtful_s = doubtful_between_s(signals, inside["between"])
    if doubtful_s > 0:
        inside["unattributed"] = take(inside, "between", doubtful_s)
    around = _around(signals, len(steps.steps))
    seconds = {**inside, **{name: s + inside.get(name, 0.0) for name, s in around.items()}}
    whole_s = signals.whole_time.total_s / len(steps.steps)
    shares = {name: value / whole_s if whole_s else 0.0 for name, value in seconds.items()}
    parts = tuple(
        BreakdownPart(
            name,
            part_label(name, signals),
            value,
            shares[name],
            _detail(name, shares[name], signals),
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
        where=signals.loop.location,
    )


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
