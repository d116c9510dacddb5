"""Batch normalization folded into the layer in front of it: one layer less, the same results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.graph import Call, Graph, fresh, graph_of, rebuilt
from quickfit.compression.norms.kinds import INSIDE, holds_norm, is_norm, is_renorm
from quickfit.compression.norms.linear import has_channels_at, scaled
from quickfit.compression.walking.compiling import compile_like
from quickfit.compression.walking.copies import copy_flags
from quickfit.compression.walking.kinds import calls_its_own_way


@dataclass(frozen=True)
class Folded:
    """A model without those batch normalizations that could be folded.

    Args:
        model: the new model.
        folded: the names of the normalizations that are gone.
        kept: the names of the others, and of layers with some inside them, and why.
    """

    model: Any
    folded: tuple[str, ...]
    kept: Mapping[str, str]


def folded(model: Any) -> Folded:
    """Return a copy of a model whose batch normalizations are part of the layers in front of them.

    A normalization disappears where it directly follows a convolution (also depthwise, separable,
    transposed) or a Dense layer without activation whose result nobody else uses. What comes out
    is the same up to rounding in prediction; the copy is meant for that, not for training.
    """
    graph = graph_of(model)
    reasons = {id(c): _obstacle(graph, c) for c in graph.calls if is_norm(c.layer)}
    norms = {c.inputs[0]: c for c in graph.calls if reasons.get(id(c)) == ""}

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if reasons.get(id(call)) == "":
            return tensors[0]  # done by the layer in front
        norm = norms.get(call.outputs[0])
        return None if norm is None else _merged(graph, call, norm, tensors)

    copy = rebuilt(graph, make)
    compile_like(model, copy)
    kept = {c.name: INSIDE for c in graph.calls if holds_norm(c.layer)}
    kept |= {c.name: reasons[id(c)] for c in graph.calls if reasons.get(id(c))}
    return Folded(copy, tuple(norm.name for norm in norms.values()), kept)


def _merged(graph: Graph, call: Call, norm: Call, tensors: tuple[Any, ...]) -> Any:
    # Keras names an output after the layer that makes it.
    name = norm.name if norm.outputs[0] in graph.outputs else call.name
    layer = fresh(call.layer, name=name, use_bias=True)
    made = call.replay(layer, tensors)
    layer.set_weights(scaled(call.layer, *_line(norm.layer)))
    copy_flags(call.layer, layer, trainable=call.trainable)
    return made


def _line(norm: Any) -> tuple[Any, Any]:
    """Return factor and offset per channel that a normalization amounts to in prediction."""
    mean, variance = (np.asarray(v, np.float64) for v in (norm.moving_mean, norm.moving_variance))
    factor = 1.0 / np.sqrt(variance + norm.epsilon)
    if norm.scale:
        factor = factor * np.asarray(norm.gamma, np.float64)
    offset = -mean * factor
    if norm.center:
        offset = offset + np.asarray(norm.beta, np.float64)
    return factor, offset


def _obstacle(graph: Graph, call: Call) -> str:
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
    return _misfit(graph, before, call)


def _misfit(graph: Graph, before: Call, norm: Call) -> str:
    import keras

    layer = before.layer
    axis = norm.layer.axis % len(graph.shape_of(norm.inputs[0]))
    if calls_its_own_way(layer) or not has_channels_at(layer, axis, graph.shape_of(norm.inputs[0])):
        return f"'{before.name}' in front of it ({type(layer).__name__}) cannot take it in"
    if layer.activation not in (None, keras.activations.linear):
        return f"'{before.name}' in front of it has an activation"
    return ""
