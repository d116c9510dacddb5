"""Which layers of a model stay in float32 when the others go to 16 bits, and why."""

from __future__ import annotations

import re
from typing import Any

from quickfit.tuning.precision.layers import (
    every_layer,
    graph_layers,
    input_layer,
    is_graph,
    is_layer,
    is_sequential,
    sources,
)

# Models, layers and tensors of Keras are `Any`: Keras has no types of its own.

HEAD = "makes the model's output, which the loss is computed from"
SOFTMAX = "a softmax loses small probabilities in 16 bits"
IDS = "Keras would round the ids that go into it, since the model does not say that they are ints"
# Keras 3.15 fails to add a loss of 16 bits to those of float32; float16 also ends at 65504.
REGULARIZER = "its activity regularizer adds up many numbers, for a loss that is in float32"
INPUT = "prepares the input, whose numbers may be large"

# Half of the smallest float16 above 0 is rounded to 0, and dividing by it gives Inf.
SMALLEST_FLOAT16 = 6e-8
_EPSILON = re.compile(r"_?eps(ilon)?", re.IGNORECASE)
# These compute in float32 inside, whatever their policy (tried with an epsilon of 1e-12).
_SAFE = (
    "BatchNormalization",
    "LayerNormalization",
    "GroupNormalization",
    "RMSNormalization",
)


def kept_layers(model: Any, policy: str) -> dict[int, str]:
    """Return the layers that stay in float32, by `id`, with the reason."""
    kept = {id(layer): HEAD for layer in head_layers(model)}
    kept |= {id(layer): IDS for layer in rounded_lookups(model)}
    for layer in graph_layers(model):
        reason = _reason(layer, policy)
        if reason:
            kept.setdefault(id(layer), reason)
    return kept


def head_layers(model: Any) -> list[Any]:
    """Return the layers that an output goes through, back to the first with weights of its own.

    An activation at the very end is enough: what it gets may be in 16 bits.
    """
    if is_sequential(model):
        return _tail(list(model.layers))
    found: dict[int, Any] = {}
    waiting, seen = list(model.outputs), set()
    while waiting:
        tensor = waiting.pop()
        operation, inputs = sources(tensor)
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if is_graph(operation):
            found |= {id(layer): layer for layer in head_layers(operation)}
        elif is_layer(operation):
            found[id(operation)] = operation
        if not _ends_head(operation):
            waiting += inputs
    return list(found.values())


def rounded_lookups(model: Any) -> list[Any]:
    """Return the lookup that a list of layers begins with where it takes its input for 16 bits.

    A Sequential that is not built yet takes the type of its first layer for that of its input,
    and casts ids to it: 4001 becomes 4000 in bfloat16, and another row is looked up (Keras 3.15).
    """
    if not is_sequential(model) or not model.layers:
        return []
    first = model.layers[0]
    if is_graph(first):
        return rounded_lookups(first)
    is_lookup = "Embedding" in type(first).__name__
    given = input_layer(model)
    is_said = given is not None and str(given.dtype) not in ("float16", "bfloat16")
    return [first] if is_lookup and not is_said else []


def unsafe_epsilon(layer: Any) -> tuple[str, float] | None:
    """Return the name and value of an epsilon that is 0 in float16, where the layer has one."""
    if type(layer).__name__ == "UnitNormalization":
        return "epsilon", 1e-12  # written into it; a row of zeros becomes NaN
    if type(layer).__name__ in _SAFE:
        return None
    for name, value in vars(layer).items():
        is_number = isinstance(value, float) and 0 < value < SMALLEST_FLOAT16
        if is_number and _EPSILON.fullmatch(name):
            return name, value
    return None


def is_softmax(layer: Any) -> bool:
    """Tell whether a layer ends in a softmax."""
    import keras

    functions = (keras.activations.softmax, keras.activations.log_softmax)
    activation = getattr(layer, "activation", None)
    return isinstance(layer, keras.layers.Softmax) or any(activation is one for one in functions)


def _reason(layer: Any, policy: str) -> str:
    """Say why a layer stays in float32; empty if it need not."""
    if is_softmax(layer):
        return SOFTMAX
    if type(layer).__module__.startswith("keras.src.layers.preprocessing"):
        return INPUT
    if layer.activity_regularizer is not None:
        return REGULARIZER
    if policy != "mixed_float16":
        return ""
    for part in (layer, *every_layer(layer)):
        unsafe = unsafe_epsilon(part)
        if unsafe is not None:
            return f"its {unsafe[0]} of {unsafe[1]:g} is 0 in float16"
    return ""


def _tail(layers: list[Any]) -> list[Any]:
    """Return the last layers of a list, back to the first that ends the head."""
    found = []
    for layer in reversed(layers):
        found += head_layers(layer) if is_graph(layer) else [layer]
        if _ends_head(layer):
            break
    return found


def _ends_head(operation: Any) -> bool:
    if not is_layer(operation):
        return False  # such as `x * 2`: it computes in whatever it is given
    kind = type(operation)
    # A layer that was not called yet has no weights to show, but a `build` that makes them.
    is_weighted = bool(operation.weights) or (not operation.built and _makes_weights(operation))
    is_activation = kind.__name__ == "Activation" or ".layers.activations." in kind.__module__
    return is_graph(operation) or kind.__name__ == "InputLayer" or is_weighted or is_activation


def _makes_weights(layer: Any) -> bool:
    return hasattr(layer, "kernel_initializer") or bool(getattr(layer, "_layers", ()))
