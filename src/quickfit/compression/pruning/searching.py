"""The smallest ratio that reaches a target: a share of the operations, or a speed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.compression.calibration import Samples
from quickfit.compression.flops import Flops, flops
from quickfit.compression.graph import Graph
from quickfit.compression.pruning import kinds
from quickfit.compression.pruning.choosing import Group, Plan, planned
from quickfit.compression.pruning.cutting import cut
from quickfit.compression.pruning.tracing import Trace
from quickfit.errors import ModelError, UsageError
from quickfit.units import factor, share

# Ratios are tried in steps of this size; a group rarely has more channels than this.
STEPS = 256


@dataclass(frozen=True)
class Choices:
    """All plans that one may choose from: one per ratio."""

    trace: Trace
    groups: list[Group]
    multiple: int

    def at(self, step: int) -> Plan:
        """Return the plan of a ratio, in steps from 0 to `STEPS`."""
        return planned(self.trace, self.groups, step / STEPS, self.multiple)


def with_flops(choices: Choices, kept: float, samples: Samples) -> Plan:
    """Return the plan that removes least and keeps at most this share of the operations."""
    graph = choices.trace.graph
    size = open_sizes(graph, samples)
    before = flops(graph, size=size)
    step = first(lambda step: estimated(choices.at(step), before) <= kept * before.total)
    while step <= STEPS:
        plan = choices.at(step)
        if flops(cut(plan), size=size).total <= kept * before.total:
            return plan
        step = _next(choices, step)
    least = flops(cut(choices.at(STEPS)), size=size).total / max(before.total, 1)
    raise ModelError(
        f"'{graph.name}' cannot be pruned to {share(kept)} of its operations: {share(least)} is "
        f"the least, with {choices.multiple} channels in every layer that may lose some. Ask for "
        f"more, or give a smaller multiple (now {choices.multiple}). Layers that must keep their "
        "channels are listed by pruned(…, ratio=0.5).skipped"
    )


def with_speed(choices: Choices, speed: float, measure: Callable[[Any], float]) -> Plan:
    """Return a plan whose model is so many times faster, as `measure` sees it.

    The original is measured again before every candidate, so that a machine that becomes slower
    or faster in between does not decide.
    """
    graph, best = choices.trace.graph, 0.0

    def is_fast(step: int) -> bool:
        nonlocal best
        original = _seconds(measure, graph.model)
        gain = original / _seconds(measure, cut(choices.at(step)))
        best = max(best, gain)
        return gain >= speed

    # Clocks do not tell finer steps apart, and every step costs a model and two measurements.
    coarse = STEPS // 16
    found = first(lambda step: is_fast(step * coarse), last=16)
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


def first(is_enough: Callable[[int], bool], last: int = STEPS) -> int:
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


def _next(choices: Choices, step: int) -> int:
    """Return the next step with another plan."""
    plan = choices.at(step)
    following = range(step + 1, STEPS + 1)
    return next((s for s in following if choices.at(s).removed != plan.removed), STEPS + 1)


def estimated(plan: Plan, before: Flops) -> float:
    """Return about how many operations are left, without building the model."""
    trace, shares = plan.trace, {}
    for call in trace.graph.calls:
        made = plan.share(trace.tensors[call.outputs[0]])
        sums = kinds.kind_of(call.layer) in kinds.SUMMING
        shares[call.name] = made * plan.share(trace.read.get(id(call.layer))) if sums else made
    return sum(count * shares.get(name, 1.0) for name, count in before.by_layer.items())


def _seconds(measure: Callable[[Any], float], model: Any) -> float:
    seconds = measure(model)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"measure(model) must return seconds, more than 0: {seconds!r} came.")
    if not math.isfinite(seconds):
        raise UsageError(f"measure(model) must return seconds: {seconds!r} came.")
    return float(seconds)
