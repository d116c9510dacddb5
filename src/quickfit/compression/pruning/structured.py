"""Structured pruning: whole channels are removed, and what is left takes over their work."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.flops import flops
from quickfit.compression.graph import Graph, graph_of
from quickfit.compression.made import Made, Skipped
from quickfit.compression.norms.recalibration import Recalibration, recalibrate
from quickfit.compression.pruning import kinds
from quickfit.compression.pruning.choosing import Plan, groups_of, planned
from quickfit.compression.pruning.cutting import cut
from quickfit.compression.pruning.following import traced
from quickfit.compression.pruning.refitting import Refit, refit
from quickfit.compression.pruning.searching import Choices, open_sizes, with_flops, with_speed
from quickfit.compression.pruning.tracing import Trace
from quickfit.errors import ModelError, UsageError
from quickfit.units import share

# Images bring many rows each, but those of one image are alike.
FEW = 32

RANGES = {
    "ratio": "from 0 up to, but not including, 1 (the share of channels to remove)",
    "flops": "above 0, at most 1 (the share of operations to keep, not their number)",
    "speed": "of 1 or more (times faster)",
}
EXCLUDED = {"ratio": 1, "flops": 0, "speed": float("inf")}


@dataclass(frozen=True)
class Goal:
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
) -> Made:
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
    goal = Goal(ratio, flops, speed, measure)
    goal.check()
    if isinstance(multiple, bool) or not isinstance(multiple, int) or multiple < 1:
        raise UsageError(f"multiple must be a whole number, 1 or more, and {multiple!r} came.")
    graph = graph_of(model)
    samples = samples_of(graph, calibration, seed=seed)
    trace = traced(graph)
    plan = _chosen(goal, Choices(trace, groups_of(trace), multiple), samples)
    student = cut(plan)
    if not plan.removed:
        return Made(student, (_exact(goal, multiple),), _skipped(plan))
    fitted = refit(plan, student, samples, seed=seed)
    done = recalibrate(student, samples, like=model, channels=_channels(plan))
    return Made(student, _notes(plan, student, samples, fitted, done), _skipped(plan, fitted))


def _check_number(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    low, high = {"ratio": (0, 1), "flops": (0, 1), "speed": (1, float("inf"))}[name]
    is_right = is_number and low <= value <= high and value != EXCLUDED[name]
    if not is_right:
        raise UsageError(f"{name} must be a number {RANGES[name]}, and {value!r} came.")


def _chosen(goal: Goal, choices: Choices, samples: Samples) -> Plan:
    if not choices.groups and goal.ratio != 0:
        raise ModelError(_nothing(choices.trace))
    if goal.flops is not None:
        return with_flops(choices, goal.flops, samples)
    if goal.speed is not None and goal.measure is not None:
        return with_speed(choices, goal.speed, goal.measure)
    return planned(choices.trace, choices.groups, goal.ratio or 0.0, choices.multiple)


def _nothing(trace: Trace) -> str:
    reasons = [f"  {one.layer}: {one.reason}" for one in _skipped(Plan(trace, frozenset()))]
    listed = "\n".join(reasons[:10]) or "  it has no convolution and no Dense layer"
    return f"'{trace.graph.name}' has no channels that could be removed:\n{listed}"


def _exact(goal: Goal, multiple: int) -> str:
    text = "Nothing was removed: this is an exact copy."
    if goal.ratio:
        text += (
            f" Channels are kept in multiples of {multiple}, and every layer has too few for a "
            f"ratio of {goal.ratio:g}. Remove more, or give a smaller multiple."
        )
    return text


def _channels(plan: Plan) -> dict[str, Any]:
    """Return which channels of the original each normalization still has."""
    calls = plan.trace.calls_with(plan.trace.read)
    norms = [c for c in calls if kinds.kind_of(c.layer) == "BatchNormalization"]
    return {call.name: plan.kept(plan.trace.read[id(call.layer)]) for call in norms}


def _skipped(plan: Plan, fitted: Refit | None = None) -> tuple[Skipped, ...]:
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
    return tuple(Skipped(name, reason) for name, reason in found.items())


def _notes(
    plan: Plan, student: Any, samples: Samples, fitted: Refit, done: Recalibration
) -> tuple[str, ...]:
    trace = plan.trace
    made = list(trace.made.values())
    before = sum(len(channels.atoms) for channels in made)
    after = sum(len(plan.kept(channels)) for channels in made)
    left = _left(trace.graph, student, samples)
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


def _left(graph: Graph, student: Any, samples: Samples) -> str:
    size = open_sizes(graph, samples)
    old, new = flops(graph, size=size), flops(student, size=size)
    weights = student.count_params() / max(1, graph.model.count_params())
    work = new.total / max(1, old.total)
    text = f"{share(work)} of the operations and {share(weights)} of the weights are left"
    if old.uncounted:
        text += f" (operations of {', '.join(old.uncounted)} are not counted)"
    return text
