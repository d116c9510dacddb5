"""What the steps of a loop spend their time on, as parts that add up to them."""

from __future__ import annotations

import contextlib

from quickfit.errors import SignalMissing
from quickfit.signals import Signals
from quickfit.signals.steps import LOOKS, Steps

ITERATOR_ENDS = "TensorFlow shutting its iterators down"
# A part of the train step, below it in the account.
PYTHON_IN_STEP = "python_in_step"
LABELS = {
    "input_wait": "waiting for input",
    "copies": "copying into tensors",
    "tracing": "tracing and compiling",
    "step": "the train step",
    PYTHON_IN_STEP: "Python called from the graph",
    "logs": "metrics and logs",
    "callbacks": "callbacks",
    "between": "Python between steps",
    "looks": "predict and evaluate calls",
    "validation": "validation",
    "checkpoint": "saving checkpoints",
    "epoch_callbacks": "callbacks at epochs",
    "iterator_ends": ITERATOR_ENDS,
    "epoch_ends": "between epochs",
    "fit_calls": "between calls",
    "unattributed": "not attributed",
}
# Parts that are named however little they take.
ALWAYS = ("input_wait", "step", "callbacks", "between")


def part_label(name: str, signals: Signals) -> str:
    """Return the words for a part of the time of the loop that `signals` are about."""
    head = signals.loop.facts.get("head")
    if name == "step" and head in LOOKS:
        return f"calls of `{head}`"
    if name == "step" and not signals.loop.trains:
        return "the step"
    if name == "validation" and signals.loop.kind != "fit" and _predicts(signals):
        return LABELS["looks"]
    return LABELS[name]


def _predicts(signals: Signals) -> bool:
    """Tell whether what looks at the model beside a loop of the script is `predict`."""
    return any(call.kind == "predict" for call in signals.calls)


def step_parts(signals: Signals, steps: Steps, wait_s: float | None) -> dict[str, float]:
    """Return the mean seconds per step of each part of some steps.

    Args:
        signals: of the loop.
        steps: the steps that are split: all, or those after warm-up.
        wait_s: how long one of them waits for input on average; None where that is not known,
            and the wait stays inside the step.
    """
    callbacks_s = _mean_of(signals, steps, "callbacks_s")
    call_s = _mean_of(signals, steps, "call_s")
    asked_s = _mean_of(signals, steps, "wait_s")
    between_s = max(steps.mean_s - call_s - callbacks_s - asked_s, 0.0)
    if signals.loop.facts.get("head") == "save":
        return {"step": 0.0, "callbacks": 0.0, "between": between_s, "checkpoint": call_s}
    parts = {"step": call_s, "callbacks": callbacks_s, "between": between_s}
    if asked_s:  # Python asks for the batch, outside the call
        parts = {"input_wait": asked_s, **parts}
    elif wait_s is not None:
        inside_s = min(wait_s, call_s)
        parts = {"input_wait": inside_s, **parts, "step": call_s - inside_s}
    parts["logs"] = take(parts, "step", _mean_of(signals, steps, "logs_s"))
    outside_s = take(parts, "between", signals.copies_between_s)
    inside_s = max((signals.copies_s or 0.0) - signals.copies_between_s, 0.0)
    parts["copies"] = take(parts, "step", inside_s) + outside_s
    traced_s = min(signals.compiled_s(steps) / len(steps.steps), steps.mean_s)
    # A trace in a callback belongs to the callback; only one inside the call is taken from it.
    place = "callbacks" if callbacks_s > traced_s > parts["step"] else "step"
    parts["tracing"] = take(parts, place, traced_s)
    whole = signals.whole_time
    parts["looks"] = take(parts, "between", whole.looks_in_steps_s / len(steps.steps))
    saves_s = whole.saves_in_steps_s / len(steps.steps)
    in_hooks_s = take(parts, "callbacks", saves_s)
    parts["checkpoint"] = in_hooks_s + take(parts, "between", saves_s - in_hooks_s)
    if signals.loop.kind != "fit":
        with contextlib.suppress(SignalMissing):
            forward = signals.forward_share_between(parts["between"] / steps.mean_s)
            parts["step"] += take(parts, "between", forward * steps.mean_s)
        with contextlib.suppress(SignalMissing):  # too few steps to have been sampled
            read_s = parts["between"] * signals.metrics_share_between()
            parts["logs"] += take(parts, "between", read_s)
    return {name: value for name, value in parts.items() if value > 0 or name in ALWAYS}


def _mean_of(signals: Signals, steps: Steps, part: str) -> float:
    """Return the mean of a field over steps, the first ones apart from the others.

    Of many steps only some are watched in full, the first ones among them. A first step that traces
    for seconds says nothing about those that were not watched.
    """
    after = signals.all_steps
    first = len(steps.steps) - len(after.steps) if after is not None else 0
    if after is None or first <= 0:
        return steps.mean_of(part)
    warmup = Steps(steps.steps[:first], 0)
    total_s = warmup.mean_of(part) * first + after.mean_of(part) * len(after.steps)
    return total_s / len(steps.steps)


def doubtful_between_s(signals: Signals, between_s: float) -> float:
    """Return how much of the Python between steps neither samples nor CPU time vouch for."""
    if signals.loop.kind == "fit":
        return 0.0
    try:
        return max(between_s - signals.supported_between_s(), 0.0)
    except SignalMissing:
        return between_s


def take(parts: dict[str, float], name: str, wanted_s: float) -> float:
    """Take up to so many seconds out of a part; return how many there were."""
    taken_s = min(max(wanted_s, 0.0), parts[name])
    parts[name] -= taken_s
    return taken_s
