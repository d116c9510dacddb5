"""Convolutions rewritten as depthwise and pointwise ones."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from quickfit import units
from quickfit.compression.batch_norm import recalibrate_in_place
from quickfit.compression.calibration import LIMIT, affordable_samples, samples_of
from quickfit.compression.copying import SkippedLayer, TransformedModel, compile_like, rebuild_graph
from quickfit.compression.graph import Graph, graph_of
from quickfit.compression.keras_internals import with_sublayers
from quickfit.compression.least_squares import RIDGE
from quickfit.compression.separable.refitting import refit_halves, split_convolutions
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
) -> TransformedModel:
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
    _check_options(depth_multiplier, ridge, saving)
    graph = graph_of(model)
    samples = samples_of(graph, calibration, seed=seed)
    # Nested models dissolved, so that the calls of old and new model come in the same order.
    old = graph_of(rebuild_graph(graph))
    ranks, skipped = _choose_convolutions(old, depth_multiplier, saving)
    student, halves = split_convolutions(old, ranks)
    notes = ["No convolution was rewritten: this is a copy of the model."]
    if halves:
        new = graph_of(student)
        samples = affordable_samples(new, affordable_samples(old, samples))
        missed = refit_halves(old, new, halves, samples, ridge=ridge, seed=seed)
        left = recalibrate_in_place(student, samples, like=model).left
        skipped += [
            SkippedLayer(name, f"its statistics are the old ones: {left[name]}") for name in left
        ]
        notes = _rewrite_notes(missed, depth_multiplier, len(samples))
    compile_like(model, student)
    return TransformedModel(student, tuple(notes), tuple(skipped))


def _check_options(depth_multiplier: Any, ridge: float, saving: float) -> None:
    if not isinstance(depth_multiplier, Integral) or isinstance(depth_multiplier, bool):
        raise UsageError(f"depth_multiplier is a whole number, and {depth_multiplier!r} came.")
    if depth_multiplier < 1:
        raise UsageError(f"depth_multiplier is 1 or more, and {depth_multiplier!r} came.")
    if not 0 <= ridge < math.inf:
        raise UsageError(f"ridge must be 0 or more, and {ridge!r} came.")
    if not saving <= 1:
        raise UsageError(f"saving is a share, at most 1, and {saving!r} came.")


def _choose_convolutions(
    graph: Graph, multiplier: int, saving: float
) -> tuple[dict[str, int], list[SkippedLayer]]:
    """Return the filters per channel by name of convolution, in turn, and the layers left alone."""
    reasons = {call.name: rewrite_obstacle(call.layer, multiplier, saving) for call in graph.calls}
    turns, circles = refit_order(graph, (name for name, reason in reasons.items() if reason == ""))
    layers = {call.name: call.layer for call in graph.calls}
    reasons |= dict.fromkeys(circles, CIRCLE)
    skipped = [SkippedLayer(name, reason) for name, reason in reasons.items() if reason]
    return {name: rank_of(layers[name], multiplier) for name in turns}, skipped


def _rewrite_notes(missed: Mapping[str, float], multiplier: int, samples: int) -> list[str]:
    count = len(missed)
    notes = [
        f"{count} convolution{'s' if count > 1 else ''} rewritten"
        f" ({_list_names(list(missed))}) with {multiplier}"
        f" filter{'s' if multiplier > 1 else ''} per channel, refitted on {samples} "
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
            f"{_list_names(poor)}: try a larger depth_multiplier, or a short fine-tuning."
        )
    return notes


def _list_names(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    text = ", ".join(f"'{name}'" for name in names[:NAMED])
    return f"{text} and {more} more" if more > 0 else text


# With fewer channels there is hardly anything to save, and the first layer of a network, which
# reads colours, is the one that suffers most.
MIN_CHANNELS = 8

INSIDE = "its convolutions are inside it, and it stays whole"


def rewrite_obstacle(layer: Any, multiplier: int, saving: float) -> str | None:
    """Return why a layer is not rewritten; an empty text where it is.

    Args:
        layer: a layer or operation of a model.
        multiplier: how many filters each channel shall get.
        saving: the share of its operations that must be saved at least.

    Returns:
        None for layers without convolutions: they need no reason.
    """
    import keras

    if not isinstance(layer, keras.Layer):
        return None
    if type(layer) is not keras.layers.Conv2D:
        return _kind_obstacle(layer)
    return (
        _kernel_obstacle(layer)
        or _geometry_obstacle(layer)
        or _saving_obstacle(layer, multiplier, saving)
    )


def rank_of(layer: Any, multiplier: int) -> int:
    """Return how many filters per channel a convolution gets: more than its rank are useless."""
    return int(min(multiplier, math.prod(layer.kernel_size), layer.filters))


def saved_share(layer: Any, multiplier: int) -> float:
    """Return the share of its operations that a rewritten convolution saves (negative: it adds)."""
    rank = rank_of(layer, multiplier)
    return 1.0 - rank / int(layer.filters) - rank / int(math.prod(layer.kernel_size))


def _kind_obstacle(layer: Any) -> str | None:
    import keras

    name = type(layer).__name__
    if isinstance(layer, keras.layers.Conv2D):
        return f"{name} is a class of its own, which may not compute what a Conv2D computes"
    if isinstance(layer, _layer_classes("DepthwiseConv1D DepthwiseConv2D")):
        return "it is depthwise already"
    if isinstance(layer, _layer_classes("SeparableConv1D SeparableConv2D")):
        return "it is separable already"
    if isinstance(layer, _convolution_classes()):
        return f"it is a {name}, not a Conv2D"
    if any(isinstance(part, keras.layers.Conv2D) for part in with_sublayers(layer)):
        return INSIDE
    return None


def _kernel_obstacle(layer: Any) -> str:
    if layer.groups > 1:
        return f"it works in {layer.groups} groups of channels"
    if layer.lora_enabled:
        return "it has LoRA weights beside its kernel"
    if layer.kernel_constraint is not None:
        kind = type(layer.kernel_constraint).__name__
        return f"its kernel is constrained ({kind}), which fitted kernels would break"
    return ""


def _geometry_obstacle(layer: Any) -> str:
    if math.prod(layer.kernel_size) == 1:
        return "it is 1×1: pointwise already"
    channels = layer.kernel.shape[-2]
    if channels < MIN_CHANNELS:
        return f"it reads only {channels} channel{'s' if channels > 1 else ''}"
    if layer.strides[0] != layer.strides[1]:
        return f"its strides {layer.strides} differ, which TensorFlow's depthwise one cannot do"
    if layer.data_format == "channels_first":
        return "its channels come first; only channels_last is rewritten"
    return ""


def _saving_obstacle(layer: Any, multiplier: int, saving: float) -> str:
    share = saved_share(layer, multiplier)
    if share >= saving:
        return ""
    rank = rank_of(layer, multiplier)
    filters = f"{rank} filter{'s' if rank > 1 else ''} per channel"
    if share <= 0:
        return f"with {filters} it would take more operations, not fewer"
    return f"with {filters} it would save only {units.share(share)} of its operations"


def _convolution_classes() -> tuple[Any, ...]:
    return _layer_classes("Conv1D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose")


def _layer_classes(text: str) -> tuple[Any, ...]:
    import keras

    return tuple(getattr(keras.layers, name) for name in text.split())


CIRCLE = "it is shared, and what it reads in one place depends on what it makes in another"


def refit_order(graph: Graph, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the layers of these names in an order to refit them, and those that have none.

    Only shared layers have none: a layer that reads its own results cannot be fitted before they
    are there.
    """
    left = list(dict.fromkeys(names))
    before = _layer_dependencies(graph, left)
    turns: list[str] = []
    without: list[str] = []
    while left:
        free = next((name for name in left if not before[name].intersection(left)), None)
        (turns if free is not None else without).append(left.pop(left.index(free or left[0])))
    return turns, without


def _layer_dependencies(graph: Graph, names: Sequence[str]) -> dict[str, set[str]]:
    """Return, for each layer, which of the layers its inputs depend on, itself included."""
    reached: dict[int, frozenset[str]] = {}
    before: dict[str, set[str]] = {name: set() for name in names}
    for call in graph.calls:
        above = frozenset().union(*(reached.get(number, ()) for number in call.inputs))
        if call.name in before:
            before[call.name].update(above)
            above |= {call.name}
        reached.update(dict.fromkeys(call.outputs, above))
    return before
