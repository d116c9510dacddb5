"""The end of a model: the softmax or sigmoid that makes probabilities, and the logits before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quickfit.compression.graph import Call, Graph

# Layers and functions are `Any`: Keras has no types of its own.

SOFTMAX, SIGMOID, LINEAR = "softmax", "sigmoid", "linear"
# Layers of Keras that end in their activation, and can be built without it.
_WITH_ACTIVATION = frozenset(
    f"Conv{n}D{transposed}" for n in (1, 2, 3) for transposed in ("", "Transpose")
) | {"Dense", "EinsumDense", "SeparableConv1D", "SeparableConv2D", "DepthwiseConv2D"}


@dataclass(frozen=True)
class Head:
    """How one output of a model comes about.

    Args:
        activation: `softmax`, `sigmoid`, or `linear` where there is none of these at the end.
        call: the call that has it; None for `linear`.
        is_inside: whether it is part of a layer with weights, and not a layer of its own.
    """

    activation: str
    call: Call | None = None
    is_inside: bool = False


def heads_of(graph: Graph) -> tuple[Head, ...]:
    """Return one head per output of a model, in the order of `graph.outputs`."""
    return tuple(_head(graph, tensor) for tensor in graph.outputs)


def _head(graph: Graph, tensor: int) -> Head:
    call = graph.producer(tensor)
    while call is not None and _passes_on(call):
        call = graph.producer(call.inputs[0])
    if call is None or not _is_over_last_axis(call.layer):
        return Head(LINEAR)
    activation = _activation(call)
    if activation == LINEAR:
        return Head(LINEAR)
    return Head(activation, call, is_inside=_class(call.layer) in _WITH_ACTIVATION)


def _activation(call: Call) -> str:
    kind = _class(call.layer)
    if kind in ("Softmax", "Sigmoid") and len(call.inputs) == 1:
        return kind.lower()  # a layer, or an operation of `keras.ops`
    if kind == "Activation" or kind in _WITH_ACTIVATION:
        return _named(call.layer.activation)
    return LINEAR


def _named(function: Any) -> str:
    import keras

    known = {keras.activations.softmax: SOFTMAX, keras.activations.sigmoid: SIGMOID}
    try:
        return known.get(function, LINEAR)
    except TypeError:  # a callable object that cannot be hashed
        return LINEAR


def _passes_on(call: Call) -> bool:
    """Whether a call hands its input on as it is, such as a cast to float32 at the very end."""
    import keras

    kind = _class(call.layer)
    is_linear = kind == "Activation" and call.layer.activation is keras.activations.linear
    return (kind in ("Identity", "Cast") or is_linear) and len(call.inputs) == 1


def _is_over_last_axis(layer: Any) -> bool:
    return getattr(layer, "axis", -1) in (-1, [-1], (-1,))


def _class(layer: Any) -> str:
    """Return the name of a class of Keras; nothing for a class of the user's."""
    cls = type(layer)
    return cls.__name__ if cls.__module__.partition(".")[0] == "keras" else ""
