"""Structured pruning: whole channels are removed, and what is left takes over their work."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.compression.batch_norm import Recalibration, recalibrate_in_place
from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.copying import SkippedLayer, TransformedModel
from quickfit.compression.flops import Flops, flops
from quickfit.compression.graph import Graph, graph_of
from quickfit.compression.keras_internals import keras_class_name
from quickfit.compression.pruning.channel_removal import (
    ChannelGroup,
    PruningPlan,
    channel_groups,
    cut_channels,
    plan_removal,
)
from quickfit.compression.pruning.channels import SUMMING, ChannelTrace, trace_channels
from quickfit.compression.pruning.refitting import RefitResult, refit_pruned
from quickfit.errors import ModelError, UsageError
from quickfit.units import factor, share

# Ratios are tried in steps of this size; a group rarely has more channels than this.
STEPS = 256


@dataclass(frozen=True)
class Choices:
    """All plans that one may choose from: one per ratio."""

    trace: ChannelTrace
    groups: list[ChannelGroup]
    multiple: int

    def at(self, step: int) -> PruningPlan:
        """Return the plan of a ratio, in steps from 0 to `STEPS`."""
        return plan_removal(self.trace, self.groups, step / STEPS, self.multiple)


def plan_for_flops(choices: Choices, kept: float, samples: Samples) -> PruningPlan:
    """Return the plan that removes least and keeps at most this share of the operations."""
    graph = choices.trace.graph
    size = open_sizes(graph, samples)
    before = flops(graph, size=size)
    step = first_enough(
        lambda step: estimate_flops(choices.at(step), before) <= kept * before.total
    )
    while step <= STEPS:
        plan = choices.at(step)
        if flops(cut_channels(plan), size=size).total <= kept * before.total:
            return plan
        step = _next_plan(choices, step)
    least = flops(cut_channels(choices.at(STEPS)), size=size).total / max(before.total, 1)
    raise ModelError(
        f"'{graph.name}' cannot be pruned to {share(kept)} of its operations: {share(least)} is "
        f"the least, with {choices.multiple} channels in every layer that may lose some. Ask for "
        f"more, or give a smaller multiple (now {choices.multiple}). Layers that must keep their "
        "channels are listed by pruned(…, ratio=0.5).skipped"
    )


def plan_for_speed(choices: Choices, speed: float, measure: Callable[[Any], float]) -> PruningPlan:
    """Return a plan whose model is so many times faster, as `measure` sees it.

    The original is measured again before every candidate, so that a machine that becomes slower
    or faster in between does not decide.
    """
    graph, best = choices.trace.graph, 0.0

    def is_fast(step: int) -> bool:
        nonlocal best
        original = _measured_seconds(measure, graph.model)
        gain = original / _measured_seconds(measure, cut_channels(choices.at(step)))
        best = max(best, gain)
        return gain >= speed

    # Clocks do not tell finer steps apart, and every step costs a model and two measurements.
    coarse = STEPS // 16
    found = first_enough(lambda step: is_fast(step * coarse), last=16)
    if found > 16:
        raise ModelError(
            f"'{graph.name}' does not become {factor(speed)} as fast by pruning: "
            f"{factor(best)} was the best that was measured. Ask for less, or try something else: "
            "LiteRT files and separable convolutions are often faster than fewer channels."
        )
    return choices.at(found * coarse)


def open_sizes(graph: Graph, samples: Samples) -> tuple[int, ...] | None:
    """Return the sizes of the calibration data where the model leaves them open."""
    for number, array in zip(graph.inputs, samples.arrays, strict=True):
        sizes = zip(graph.shape_of(number)[1:], array.shape[1:], strict=True)
        found = tuple(int(size) for want, size in sizes if want is None)
        if found:
            return found
    return None


def first_enough(is_enough: Callable[[int], bool], last: int = STEPS) -> int:
    """Return the first step that is enough, one past the last where none is."""
    low, high = 0, last + 1
    while low < high:
        middle = (low + high) // 2
        if middle > last:
            break
        if is_enough(middle):
            high = middle
        else:
            low = middle + 1
    return high


def _next_plan(choices: Choices, step: int) -> int:
    """Return the next step with another plan."""
    plan = choices.at(step)
    following = range(step + 1, STEPS + 1)
    return next((s for s in following if choices.at(s).removed != plan.removed), STEPS + 1)


def estimate_flops(plan: PruningPlan, before: Flops) -> float:
    """Return about how many operations are left, without building the model."""
    trace, shares = plan.trace, {}
    for call in trace.graph.calls:
        made = plan.share(trace.tensors[call.outputs[0]])
        sums = keras_class_name(call.layer) in SUMMING
        shares[call.name] = made * plan.share(trace.read.get(id(call.layer))) if sums else made
    return sum(count * shares.get(name, 1.0) for name, count in before.by_layer.items())


def _measured_seconds(measure: Callable[[Any], float], model: Any) -> float:
    seconds = measure(model)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"measure(model) must return seconds, more than 0: {seconds!r} came.")
    if not math.isfinite(seconds):
        raise UsageError(f"measure(model) must return seconds: {seconds!r} came.")
    return float(seconds)


# Images bring many rows each, but those of one image are alike.
FEW = 32

RANGES = {
    "ratio": "from 0 up to, but not including, 1 (the share of channels to remove)",
    "flops": "above 0, at most 1 (the share of operations to keep, not their number)",
    "speed": "of 1 or more (times faster)",
}
EXCLUDED = {"ratio": 1, "flops": 0, "speed": float("inf")}


@dataclass(frozen=True)
class PruningGoal:
    """How much is to be removed; one of the three is given."""

    ratio: float | None
    flops: float | None
    speed: float | None
    measure: Callable[[Any], float] | None

    def check(self) -> None:
        """Raise a UsageError where the goal makes no sense."""
        given = {k: v for k, v in vars(self).items() if k != "measure" and v is not None}
        if len(given) != 1:
            came = ", ".join(f"{k}={v!r}" for k, v in given.items()) or "none of them"
            raise UsageError(
                "Say in one way how much to prune: ratio=0.5 (the share of channels to remove), "
                "flops=0.5 (the share of operations to keep) or speed=2 (times faster, with "
                f"measure=). {came} came."
            )
        for name, value in given.items():
            _check_number(name, value)
        if self.speed is not None and not callable(self.measure):
            raise UsageError(
                "speed= needs measure=, a function that takes a model and returns seconds, and "
                f"{self.measure!r} came. Example: measure=lambda model: time_of(model)"
            )


def pruned(
    model: Any,
    calibration: Any,
    *,
    ratio: float | None = None,
    flops: float | None = None,
    speed: float | None = None,
    measure: Callable[[Any], float] | None = None,
    multiple: int = 4,
    seed: int = 0,
) -> TransformedModel:
    """Return a copy of a model with fewer channels, refitted to do what the original does.

    The least important channels of every layer go, and with them all that only they need. What
    is left of each layer is refitted to the original's results on the calibration data by least
    squares, then batch normalization is recalibrated. The model itself is not changed.

    Args:
        model: a functional or Sequential model.
        calibration: data without labels, of any kind; see `samples_of`. 256 samples are used.
        ratio: the share of channels to remove, from 0 (an exact copy) up to 1.
        flops: the share of the operations to keep at most.
        speed: how many times faster the model shall be, as `measure` sees it.
        measure: takes a model and returns the seconds of what is to become faster.
        multiple: channels are kept in multiples of this number: 4 is good for a CPU, 8 for a GPU.
        seed: picks the samples of arrays and the places that are looked at.

    Raises:
        UsageError: the goal or the data make no sense.
        ModelError: the model has no graph, nothing can be removed, or the goal cannot be reached.
    """
    goal = PruningGoal(ratio, flops, speed, measure)
    goal.check()
    if isinstance(multiple, bool) or not isinstance(multiple, int) or multiple < 1:
        raise UsageError(f"multiple must be a whole number, 1 or more, and {multiple!r} came.")
    graph = graph_of(model)
    samples = samples_of(graph, calibration, seed=seed)
    trace = trace_channels(graph)
    plan = _choose_plan(goal, Choices(trace, channel_groups(trace), multiple), samples)
    student = cut_channels(plan)
    if not plan.removed:
        notes = (_nothing_removed_text(goal, multiple),)
        return TransformedModel(student, notes, _skipped_layers(plan))
    fitted = refit_pruned(plan, student, samples, seed=seed)
    done = recalibrate_in_place(student, samples, like=model, channels=_kept_norm_channels(plan))
    return TransformedModel(
        student, _pruning_notes(plan, student, samples, fitted, done), _skipped_layers(plan, fitted)
    )


def _check_number(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    low, high = {"ratio": (0, 1), "flops": (0, 1), "speed": (1, float("inf"))}[name]
    is_right = is_number and low <= value <= high and value != EXCLUDED[name]
    if not is_right:
        raise UsageError(f"{name} must be a number {RANGES[name]}, and {value!r} came.")


def _choose_plan(goal: PruningGoal, choices: Choices, samples: Samples) -> PruningPlan:
    if not choices.groups and goal.ratio != 0:
        raise ModelError(_nothing_to_prune(choices.trace))
    if goal.flops is not None:
        return plan_for_flops(choices, goal.flops, samples)
    if goal.speed is not None and goal.measure is not None:
        return plan_for_speed(choices, goal.speed, goal.measure)
    return plan_removal(choices.trace, choices.groups, goal.ratio or 0.0, choices.multiple)


def _nothing_to_prune(trace: ChannelTrace) -> str:
    reasons = [
        f"  {one.layer}: {one.reason}" for one in _skipped_layers(PruningPlan(trace, frozenset()))
    ]
    listed = "\n".join(reasons[:10]) or "  it has no convolution and no Dense layer"
    return f"'{trace.graph.name}' has no channels that could be removed:\n{listed}"


def _nothing_removed_text(goal: PruningGoal, multiple: int) -> str:
    text = "Nothing was removed: this is an exact copy."
    if goal.ratio:
        text += (
            f" Channels are kept in multiples of {multiple}, and every layer has too few for a "
            f"ratio of {goal.ratio:g}. Remove more, or give a smaller multiple."
        )
    return text


def _kept_norm_channels(plan: PruningPlan) -> dict[str, Any]:
    """Return which channels of the original each normalization still has."""
    calls = plan.trace.calls_with(plan.trace.read)
    norms = [c for c in calls if keras_class_name(c.layer) == "BatchNormalization"]
    return {call.name: plan.kept(plan.trace.read[id(call.layer)]) for call in norms}


def _skipped_layers(
    plan: PruningPlan, fitted: RefitResult | None = None
) -> tuple[SkippedLayer, ...]:
    """Return the layers that kept all their channels, and why."""
    trace, found = plan.trace, dict(plan.trace.unknown)
    for call in trace.calls_with(trace.made):
        channels = trace.made[id(call.layer)]
        reasons = [trace.atoms.reason(root) for root in trace.atoms.roots(channels.atoms).tolist()]
        reason = next((reason for reason in reasons if reason), "")
        if not reason and plan.removed and plan.share(channels) == 1:
            reason = f"its {len(channels.atoms)} channels are too few for this ratio and multiple"
        if reason:
            found.setdefault(call.name, reason)
    found |= dict(fitted.left) if fitted else {}
    return tuple(SkippedLayer(name, reason) for name, reason in found.items())


def _pruning_notes(
    plan: PruningPlan, student: Any, samples: Samples, fitted: RefitResult, done: Recalibration
) -> tuple[str, ...]:
    trace = plan.trace
    made = list(trace.made.values())
    before = sum(len(channels.atoms) for channels in made)
    after = sum(len(plan.kept(channels)) for channels in made)
    left = _what_is_left_text(trace.graph, student, samples)
    notes = [f"{before - after} of {before} channels were removed; {left}."]
    if fitted.errors:
        worst = max(fitted.errors, key=lambda name: fitted.errors[name])
        notes.append(
            f"{len(fitted.errors)} layers were refitted on {len(samples)} samples; the worst, "
            f"'{worst}', misses the original's results by {share(fitted.errors[worst])}."
        )
    if len(samples) < FEW:
        notes.append(
            f"{len(samples)} samples are few to refit to: the result may be far from the original. "
            "Give 256 or more."
        )
    notes += [
        f"The statistics of '{name}' are the old ones: {why}." for name, why in done.left.items()
    ]
    return tuple(notes)


def _what_is_left_text(graph: Graph, student: Any, samples: Samples) -> str:
    size = open_sizes(graph, samples)
    old, new = flops(graph, size=size), flops(student, size=size)
    weights = student.count_params() / max(1, graph.model.count_params())
    work = new.total / max(1, old.total)
    text = f"{share(work)} of the operations and {share(weights)} of the weights are left"
    if old.uncounted:
        text += f" (operations of {', '.join(old.uncounted)} are not counted)"
    return text
