"""Batch normalization: folded into the layers in front of it, or its statistics measured anew.

Recalibration is one pass over the calibration data, layer by layer: each normalization gets the
exact mean and variance of what goes into it, with all those before it already recalibrated.
(Averaging the statistics of batches in training mode, the usual way, misses the spread between
batches and normalizes with statistics of one batch on the way.)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.compression.calibration import LayerRun, Samples, affordable_samples, samples_of
from quickfit.compression.copying import (
    compile_like,
    copied,
    copy_flags,
    fresh_layer,
    rebuild_graph,
)
from quickfit.compression.graph import Call, Graph, Shape, graph_of
from quickfit.compression.keras_internals import calls_its_own_way, with_sublayers
from quickfit.errors import ModelError


@dataclass(frozen=True)
class FoldedModel:
    """A model without those batch normalizations that could be folded.

    Args:
        model: the new model.
        folded: the names of the normalizations that are gone.
        kept: the names of the others, and of layers with some inside them, and why.
    """

    model: Any
    folded: tuple[str, ...]
    kept: Mapping[str, str]


def folded(model: Any) -> FoldedModel:
    """Return a copy of a model whose batch normalizations are part of the layers in front of them.

    A normalization disappears where it directly follows a convolution (also depthwise, separable,
    transposed) or a Dense layer without activation whose result nobody else uses. What comes out
    is the same up to rounding in prediction; the copy is meant for that, not for training.
    """
    graph = graph_of(model)
    reasons = {id(c): _folding_obstacle(graph, c) for c in graph.calls if is_norm(c.layer)}
    norms = {c.inputs[0]: c for c in graph.calls if reasons.get(id(c)) == ""}

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if reasons.get(id(call)) == "":
            return tensors[0]  # done by the layer in front
        norm = norms.get(call.outputs[0])
        return None if norm is None else _fold_call(graph, call, norm, tensors)

    copy = rebuild_graph(graph, make)
    compile_like(model, copy)
    kept = {c.name: INSIDE for c in graph.calls if holds_norm(c.layer)}
    kept |= {c.name: reasons[id(c)] for c in graph.calls if reasons.get(id(c))}
    return FoldedModel(copy, tuple(norm.name for norm in norms.values()), kept)


def _fold_call(graph: Graph, call: Call, norm: Call, tensors: tuple[Any, ...]) -> Any:
    # Keras names an output after the layer that makes it.
    name = norm.name if norm.outputs[0] in graph.outputs else call.name
    layer = fresh_layer(call.layer, name=name, use_bias=True)
    made = call.replay(layer, tensors)
    layer.set_weights(scaled_weights(call.layer, *_norm_as_line(norm.layer)))
    copy_flags(call.layer, layer, trainable=call.trainable)
    return made


def _norm_as_line(norm: Any) -> tuple[Any, Any]:
    """Return factor and offset per channel that a normalization amounts to in prediction."""
    mean, variance = (np.asarray(v, np.float64) for v in (norm.moving_mean, norm.moving_variance))
    factor = 1.0 / np.sqrt(variance + norm.epsilon)
    if norm.scale:
        factor = factor * np.asarray(norm.gamma, np.float64)
    offset = -mean * factor
    if norm.center:
        offset = offset + np.asarray(norm.beta, np.float64)
    return factor, offset


def _folding_obstacle(graph: Graph, call: Call) -> str:
    """Return why a normalization cannot be folded; an empty text where it can."""
    before = graph.producer(call.inputs[0])
    if is_renorm(call.layer):
        return "batch renormalization keeps more statistics than these"
    if call.kwargs.get("training"):
        return "it was called with training=True"
    if before is None:
        return "it reads an input of the model"
    if len(graph.calls_of(call.layer)) > 1:
        return "it is shared"
    if len(graph.calls_of(before.layer)) > 1:
        return f"'{before.name}' in front of it is shared"
    if len(graph.users(call.inputs[0])) > 1 or call.inputs[0] in graph.outputs:
        return f"what '{before.name}' makes is used elsewhere too"
    return _folding_misfit(graph, before, call)


def _folding_misfit(graph: Graph, before: Call, norm: Call) -> str:
    import keras

    layer = before.layer
    axis = norm.layer.axis % len(graph.shape_of(norm.inputs[0]))
    if calls_its_own_way(layer) or not has_channels_at(layer, axis, graph.shape_of(norm.inputs[0])):
        return f"'{before.name}' in front of it ({type(layer).__name__}) cannot take it in"
    if layer.activation not in (None, keras.activations.linear):
        return f"'{before.name}' in front of it has an activation"
    return ""


Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Mean and variance of every channel over samples and places.

    Args:
        mean: per channel.
        variance: per channel, the mean square around the mean.
        count: how many values per channel they were taken over.
    """

    mean: Array
    variance: Array
    count: int

    def joined(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of values together (Chan's formula: no cancellation)."""
        count = self.count + other.count
        share = other.count / count
        step = other.mean - self.mean
        mean = self.mean + step * share
        spread = self.variance * (1 - share) + other.variance * share
        return Moments(mean, spread + step * step * share * (1 - share), count)

    def of_channels(self, channels: npt.ArrayLike) -> "Moments":
        """Return the moments of some of the channels, in the order given."""
        places = np.asarray(channels)
        return Moments(self.mean[places], self.variance[places], self.count)


def moments_of(batches: Iterable[Any], axis: int, name: str) -> Moments:
    """Return the moments over all batches, in double precision.

    Raises:
        ModelError: there are values that are not finite.
    """
    total: Moments | None = None
    for batch in batches:
        values = np.moveaxis(np.asarray(batch, np.float64), axis, -1)
        values = values.reshape(-1, values.shape[-1])
        with np.errstate(invalid="ignore", over="ignore"):  # told below, with the layer's name
            one = Moments(values.mean(axis=0), values.var(axis=0), len(values))
            total = one if total is None else total.joined(one)
    if total is None or not np.isfinite(total.mean).all() or not np.isfinite(total.variance).all():
        raise ModelError(
            f"The statistics of '{name}' cannot be measured: what goes into it holds values that "
            "are not finite (NaN or infinity). Check the calibration data with numpy.isfinite."
        )
    return total


# Below this share of its stored variance a channel of the original is constant on the calibration
# data: its variance there says nothing.
CONSTANT_SHARE = 1e-6


@dataclass(frozen=True)
class Recalibration:
    """What was done to the normalizations of a model.

    Args:
        changed: the names of the layers with new statistics.
        left: the names of the others, and of layers with some inside them, and why.
    """

    changed: tuple[str, ...]
    left: Mapping[str, str]


@dataclass(frozen=True)
class NormReference:
    """What a normalization of the original had stored, and what really went into it."""

    stored: Moments
    seen: Moments


def recalibrated(model: Any, data: Any, *, like: Any = None) -> Any:
    """Return a copy of a model with the statistics of its batch normalizations measured anew.

    Args:
        model: a functional or Sequential model; it is not changed.
        data: calibration data of any kind, see `samples_of`.
        like: the model that this one was made from. With it the new statistics make each layer's
            output as large and as centred as the original's on the same data: what the original
            had learned from more data than these is kept, also where its layers were frozen.
            Without it the statistics are simply those of the data, and layers that are not
            trainable keep theirs, as in training.
    """
    copy = copied(model)
    recalibrate_in_place(copy, data, like=like)
    return copy


def recalibrate_in_place(
    model: Any,
    data: Any,
    *,
    like: Any = None,
    channels: Mapping[str, npt.ArrayLike] | None = None,
) -> Recalibration:
    """Do the same to a model of our own making, in place.

    Args:
        model: the model to change.
        data: calibration data.
        like: see `recalibrated`.
        channels: for layers with fewer channels than in the original, by name: the places of
            their channels in the original. Where they are missing, the statistics are those of
            the data.
    """
    graph = graph_of(model)
    samples = affordable_samples(graph, samples_of(graph, data))
    references = _reference_statistics(like, samples, channels or {}) if like is not None else {}
    left = {name: why for name, why in _skipped_norms(graph, references).items() if why}
    calls = [c for c in graph.calls if is_norm(c.layer) and c.name not in left]
    for call, now in _norm_inputs(graph, samples, calls):
        _store_statistics(call.layer, now, references.get(call.name))
    return Recalibration(tuple(dict.fromkeys(call.name for call in calls)), left)


def _norm_inputs(
    graph: Graph, samples: Samples, calls: list[Call]
) -> Iterator[tuple[Call, Moments]]:
    """Yield what goes into normalizations, in order; layers may be changed on the way."""
    running = LayerRun(graph, samples, [call.inputs[0] for call in calls])
    seen: dict[str, Moments] = {}
    for call in calls:
        now = moments_of(running.batches(call.inputs[0]), call.layer.axis, call.name)
        # A shared layer has one set of statistics for all its calls, as in training.
        seen[call.name] = seen[call.name].joined(now) if call.name in seen else now
        yield call, seen[call.name]


def _skipped_norms(graph: Graph, references: Mapping[str, NormReference]) -> dict[str, str]:
    inside = {call.name: INSIDE for call in graph.calls if holds_norm(call.layer)}
    return inside | {
        call.name: _skip_reason(call, call.name in references)
        for call in graph.calls
        if is_norm(call.layer)
    }


def _skip_reason(call: Call, has_reference: bool) -> str:
    if is_renorm(call.layer):
        return "batch renormalization keeps more statistics than these"
    if len(call.inputs) > 1:
        return "a mask says which values count"
    if not call.trainable and not has_reference:
        return "it is not trainable"
    return ""


def _reference_statistics(
    model: Any, samples: Samples, channels: Mapping[str, npt.ArrayLike]
) -> dict[str, NormReference]:
    graph = graph_of(model)
    calls = [c for c in graph.calls if is_norm(c.layer) and len(c.inputs) == 1]
    found = {
        c.name: NormReference(_stored_moments(c.layer), now)
        for c, now in _norm_inputs(graph, samples, calls)
    }
    for name, places in channels.items():
        if name in found:
            one = found[name]
            found[name] = NormReference(
                one.stored.of_channels(places), one.seen.of_channels(places)
            )
    return found


def _stored_moments(layer: Any) -> Moments:
    mean, variance = (np.asarray(v, np.float64) for v in (layer.moving_mean, layer.moving_variance))
    return Moments(mean, variance, 1)


def _store_statistics(layer: Any, now: Moments, reference: NormReference | None) -> None:
    mean, variance = now.mean, now.variance
    if reference is not None and reference.stored.mean.shape == mean.shape:
        mean, variance = _matched_statistics(now, reference, float(layer.epsilon))
    layer.moving_mean.assign(mean.astype(layer.moving_mean.dtype))
    layer.moving_variance.assign(variance.astype(layer.moving_variance.dtype))


def _matched_statistics(
    now: Moments, reference: NormReference, epsilon: float
) -> tuple[Array, Array]:
    """Return statistics that normalize `now` to what the original made of its own input."""
    stored, seen = reference.stored, reference.seen
    divisor = stored.variance + epsilon
    is_constant = (seen.variance <= CONSTANT_SHARE * divisor) | (now.variance <= 0)
    growth = np.where(is_constant, 1.0, now.variance / np.where(is_constant, 1.0, seen.variance))
    scale = np.sqrt(growth)
    mean = now.mean - (seen.mean - stored.mean) * scale
    return mean, np.maximum(divisor * growth - epsilon, 0.0)


def has_channels_at(layer: Any, axis: int, shape: Shape) -> bool:
    """Tell whether a layer is a plain weighted sum with its channels at this axis of its output."""
    import keras

    kinds = keras.layers
    if getattr(layer, "quantization_mode", None) or getattr(layer, "lora_enabled", False):
        return False
    if isinstance(layer, kinds.Dense):
        return axis == len(shape) - 1
    if not isinstance(layer, _convolution_classes()):
        return False
    return axis == (1 if layer.data_format == "channels_first" else len(shape) - 1)


def scaled_weights(layer: Any, factor: Any, offset: Any) -> list[Any]:
    """Return the weights of the layer with a bias, its output times `factor` plus `offset`."""
    weights = [np.asarray(w, np.float64) for w in layer.get_weights()]
    bias = weights.pop() if layer.use_bias else np.zeros_like(factor)
    weights[-1] = _scaled_kernel(layer, weights[-1], factor)
    stored = layer.get_weights()[0].dtype
    return [w.astype(stored) for w in (*weights, bias * factor + offset)]


def _scaled_kernel(layer: Any, kernel: Any, factor: Any) -> Any:
    import keras

    kinds = keras.layers
    if isinstance(layer, kinds.Conv1DTranspose | kinds.Conv2DTranspose | kinds.Conv3DTranspose):
        return kernel * factor[:, None]
    if isinstance(layer, kinds.DepthwiseConv1D | kinds.DepthwiseConv2D):
        return kernel * factor.reshape(kernel.shape[-2:])
    return kernel * factor


def _convolution_classes() -> tuple[Any, ...]:
    import keras

    kinds = keras.layers
    return (
        *(kinds.Conv1D, kinds.Conv2D, kinds.Conv3D),
        *(kinds.Conv1DTranspose, kinds.Conv2DTranspose, kinds.Conv3DTranspose),
        *(kinds.DepthwiseConv1D, kinds.DepthwiseConv2D),
        *(kinds.SeparableConv1D, kinds.SeparableConv2D),
    )


INSIDE = "its normalization is inside it, and it stays whole"


def is_norm(layer: Any) -> bool:
    """Tell whether a layer is a BatchNormalization of Keras."""
    import keras

    return isinstance(layer, keras.layers.BatchNormalization) and not calls_its_own_way(layer)


def holds_norm(layer: Any) -> bool:
    """Tell whether there is a batch normalization inside a layer or nested model."""
    import keras

    if not isinstance(layer, keras.Layer):
        return False
    return any(is_norm(part) for part in with_sublayers(layer) if part is not layer)


def is_renorm(layer: Any) -> bool:
    """Tell whether it is batch renormalization, which keeps other statistics too."""
    return bool(getattr(layer, "renorm", False))
