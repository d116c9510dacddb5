"""A model that computes in 16 bits as one that computes in float32, which LiteRT needs."""

from __future__ import annotations

from typing import Any

from quickfit.compression.graph import graph_of, rebuilt
from quickfit.compression.walking.call import Call
from quickfit.compression.walking.copies import copy_state, fresh
from quickfit.compression.walking.kinds import has_graph

# Models and layers are `Any`: Keras has no types of its own.


def in_float32(model: Any) -> Any:
    """Return a model that computes in float32: itself, or a copy with the same weights.

    Raises:
        ModelError: it computes in 16 bits, and is subclassed.
    """
    if not _has_halves(model):
        return model
    made = rebuilt(graph_of(model), _InFloat32())
    made.dtype_policy = "float32"
    return made


def _has_halves(model: Any) -> bool:
    layers = getattr(model, "layers", [])
    return any(
        _has_halves(layer) if has_graph(layer) else "16" in str(layer.compute_dtype)
        for layer in layers
    )


class _InFloat32:
    """Makes the layers of the copy."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        import keras

        if not isinstance(call.layer, keras.Layer):
            return None  # an operation computes in the type of what it is given
        is_new = id(call.layer) not in self._made
        layer = self._made.setdefault(id(call.layer), self._like(call))
        result = call.replay(layer, tensors)
        if is_new and not has_graph(call.layer):
            copy_state(call.layer, layer)
        return result

    def _like(self, call: Call) -> Any:
        if has_graph(call.layer):
            return in_float32(call.layer)
        return fresh(call.layer, name=call.name, dtype="float32")
