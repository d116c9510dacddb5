"""Batch normalisations that could not be folded, as convolutions of one pixel.

LiteRT has no batch normalisation: it multiplies and adds, in float32 where nothing says what comes
out of the multiplication. As a depthwise convolution it is one operator, in int8, and its kernel
has one number per channel, which is rounded to itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quickfit.compression.graph import Graph, graph_of, rebuilt
from quickfit.compression.quantizing.roles import class_name
from quickfit.compression.walking.call import Call

# Models and layers are `Any`: Keras has no types of its own.


def norms_as_convolutions(model: Any) -> Any:
    """Return a model whose batch normalisations of images and sequences are convolutions.

    Those of plain vectors, which follow a Dense layer with an activation, stay as they are.
    """
    graph = graph_of(model)
    if not any(_is_replaced(graph, call) for call in graph.calls):
        return model
    made: dict[int, Any] = {}  # one for each layer, however often it is called

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if not _is_replaced(graph, call):
            return None
        known = made.get(id(call.layer))
        layer = known or _convolution(len(tensors[0].shape), call.name)
        result = layer(tensors[0])
        if known is None:
            made[id(call.layer)] = layer
            layer.set_weights(_weights(call.layer, layer.kernel.shape))
            layer.trainable = call.trainable
        return result

    return rebuilt(graph, make)


def _is_replaced(graph: Graph, call: Call) -> bool:
    if class_name(call.layer) != "BatchNormalization" or getattr(call.layer, "renorm", False):
        return False
    rank = len(graph.shape_of(call.inputs[0]))
    # With `training=True` in the call it normalises by its batch, for ever.
    return rank in (3, 4) and call.layer.axis in (-1, rank - 1) and not call.kwargs.get("training")


def _convolution(rank: int, name: str) -> Any:
    import keras

    kind = keras.layers.DepthwiseConv2D if rank == 4 else keras.layers.DepthwiseConv1D
    return kind(1, name=name)


def _weights(norm: Any, shape: tuple[int, ...]) -> list[Any]:
    scale = 1 / np.sqrt(np.asarray(norm.moving_variance) + norm.epsilon)
    scale = scale * (np.asarray(norm.gamma) if norm.scale else 1.0)
    shift = -np.asarray(norm.moving_mean) * scale
    shift = shift + (np.asarray(norm.beta) if norm.center else 0.0)
    return [scale.reshape(shape), shift]
