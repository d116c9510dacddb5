"""The rewrite: which convolutions, in halves, refitted, and the normalizations after them."""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from quickfit import units
from quickfit.compression.calibration import LIMIT, affordable, samples_of
from quickfit.compression.graph import Graph, graph_of, rebuilt
from quickfit.compression.made import Made, Skipped
from quickfit.compression.norms.recalibration import recalibrate
from quickfit.compression.separable.halves import halved
from quickfit.compression.separable.obstacles import obstacle, rank_of
from quickfit.compression.separable.ordering import CIRCLE, in_turn
from quickfit.compression.separable.refitting import refit
from quickfit.compression.squares import RIDGE
from quickfit.compression.walking.compiling import compile_like
from quickfit.errors import UsageError

# Less is not worth the accuracy that it costs, whatever the model.
SAVING = 0.1
# Below this many samples a fit follows their accidents: a model for digits kept 69 % accuracy with
# 16 of them, 94 % with 64, 95 % with 128, 97 % with 256; more than that changed nothing.
FEW_SAMPLES = 128
# A convolution that misses more than this of what it should make is worth a word.
MUCH = 0.5
NAMED = 5


def rewritten(
    model: Any,
    calibration: Any,
    *,
    depth_multiplier: int = 1,
    ridge: float = RIDGE,
    seed: int = 0,
    saving: float = SAVING,
) -> Made:
    """Return a copy of a model whose convolutions are depthwise and pointwise ones.

    Every `Conv2D` that gains by it becomes `<name>_depthwise` and `<name>_pointwise`; bias and
    activation stay on the latter. Both are fitted to reproduce what the convolution made of the
    calibration data, and the statistics of batch normalizations are measured anew. The copy is
    compiled like the model where that is compiled.

    Args:
        model: a functional or Sequential model; it is not changed.
        calibration: unlabelled data as the model gets them, see `samples_of`; 256 samples do.
        depth_multiplier: how many filters per input channel: 1 is the smallest model, 2 and 3 are
            closer to the original. As many as the kernel has taps give the same results.
        ridge: how strongly weights are pulled towards the original's where the data say little.
        seed: picks samples and places of images. The same seed gives the same model.
        saving: the share of its operations that a convolution must save to be rewritten; with
            `-math.inf` every one that can be rewritten is.

    Raises:
        UsageError: an argument is wrong, or the data do not fit the model.
        ModelError: the model has no graph to rewrite, or it or the data hold NaN.
    """
    _check(depth_multiplier, ridge, saving)
    graph = graph_of(model)
    samples = samples_of(graph, calibration, seed=seed)
    # Nested models dissolved, so that the calls of old and new model come in the same order.
    old = graph_of(rebuilt(graph))
    ranks, skipped = _chosen(old, depth_multiplier, saving)
    student, halves = halved(old, ranks)
    notes = ["No convolution was rewritten: this is a copy of the model."]
    if halves:
        new = graph_of(student)
        samples = affordable(new, affordable(old, samples))
        missed = refit(old, new, halves, samples, ridge=ridge, seed=seed)
        left = recalibrate(student, samples, like=model).left
        skipped += [
            Skipped(name, f"its statistics are the old ones: {left[name]}") for name in left
        ]
        notes = _notes(missed, depth_multiplier, len(samples))
    compile_like(model, student)
    return Made(student, tuple(notes), tuple(skipped))


def _check(depth_multiplier: Any, ridge: float, saving: float) -> None:
    if not isinstance(depth_multiplier, Integral) or isinstance(depth_multiplier, bool):
        raise UsageError(f"depth_multiplier is a whole number, and {depth_multiplier!r} came.")
    if depth_multiplier < 1:
        raise UsageError(f"depth_multiplier is 1 or more, and {depth_multiplier!r} came.")
    if not 0 <= ridge < math.inf:
        raise UsageError(f"ridge must be 0 or more, and {ridge!r} came.")
    if not saving <= 1:
        raise UsageError(f"saving is a share, at most 1, and {saving!r} came.")


def _chosen(graph: Graph, multiplier: int, saving: float) -> tuple[dict[str, int], list[Skipped]]:
    """Return the filters per channel by name of convolution, in turn, and the layers left alone."""
    reasons = {call.name: obstacle(call.layer, multiplier, saving) for call in graph.calls}
    turns, circles = in_turn(graph, (name for name, reason in reasons.items() if reason == ""))
    layers = {call.name: call.layer for call in graph.calls}
    reasons |= dict.fromkeys(circles, CIRCLE)
    skipped = [Skipped(name, reason) for name, reason in reasons.items() if reason]
    return {name: rank_of(layers[name], multiplier) for name in turns}, skipped


def _notes(missed: Mapping[str, float], multiplier: int, samples: int) -> list[str]:
    count = len(missed)
    notes = [
        f"{count} convolution{'s' if count > 1 else ''} rewritten ({_listed(list(missed))}) with "
        f"{multiplier} filter{'s' if multiplier > 1 else ''} per channel, refitted on {samples} "
        f"sample{'s' if samples > 1 else ''}."
    ]
    if samples < FEW_SAMPLES:
        notes.append(
            f"{samples} sample{'s are' if samples > 1 else ' is'} few to refit on: with "
            f"{LIMIT} the model comes closer to the original."
        )
    poor = [name for name, share in missed.items() if share > MUCH]
    if poor:
        notes.append(
            f"Less than {units.share(1 - MUCH)} of what the original makes is reproduced in "
            f"{_listed(poor)}: try a larger depth_multiplier, or a short fine-tuning."
        )
    return notes


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    text = ", ".join(f"'{name}'" for name in names[:NAMED])
    return f"{text} and {more} more" if more > 0 else text
