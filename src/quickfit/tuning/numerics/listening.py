"""Hears every layer of a model while it is called, in the order in which they finish."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Layers and tensors are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True, eq=False)  # tensors are not compared as a whole
class Call:
    """One call of a layer, or of an operation in the graph of a functional model.

    Attributes:
        layer: what was called.
        path: its name, with the names of the models and layers around it.
        args: as it was called.
        kwargs: as it was called.
        result: what it returned.
    """

    layer: Any
    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    @property
    def inputs(self) -> list[Any]:
        """The tensors that went in."""
        return tensors([self.args, self.kwargs])

    @property
    def outputs(self) -> list[Any]:
        """The tensors that came out."""
        return tensors(self.result)


@contextmanager
def listening(hear: Callable[[Call], None]) -> Iterator[None]:
    """Call `hear` after each layer that is called in this thread.

    Models are layers too; the first call is the model's own, and its name is left out of paths.
    """
    import keras

    owner, names = threading.get_ident(), list[str]()
    layer_call, operation_call = keras.Layer.__call__, keras.Operation.__call__

    def heard(original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        if threading.get_ident() != owner:
            return original(self, *args, **kwargs)
        names.append(self.name)
        path = "/".join(names[1:]) or self.name
        try:
            result = original(self, *args, **kwargs)
        finally:
            names.pop()
        hear(Call(self, path, args, kwargs, result))
        return result

    def call_layer(self: Any, *args: Any, **kwargs: Any) -> Any:
        return heard(layer_call, self, args, kwargs)

    def call_operation(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, keras.Layer):  # on its way from `call_layer`
            return operation_call(self, *args, **kwargs)
        return heard(operation_call, self, args, kwargs)

    keras.Layer.__call__, keras.Operation.__call__ = call_layer, call_operation
    try:
        yield
    finally:
        keras.Layer.__call__, keras.Operation.__call__ = layer_call, operation_call


def tensors(structure: Any) -> list[Any]:
    """Return the eager tensors in a nested structure."""
    import tensorflow as tf

    leaves = tf.nest.flatten(structure, expand_composites=True)
    return [one for one in leaves if isinstance(one, tf.Tensor) and hasattr(one, "numpy")]
