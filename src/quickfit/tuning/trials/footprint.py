"""What one training step holds at least, by the shapes that Keras knows before it runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any


def step_bytes(model: Any, batch: int) -> int:  # Any: Keras tells no types
    """Return the memory of all outputs of layers, which are kept until the gradients are made.

    Of a subclassed model Keras knows no shapes: then it is 0, and nothing follows from it.
    """
    tensors = {id(one): one for layer in _layers(model) for one in _outputs(layer)}
    return sum(_bytes(one, batch) for one in tensors.values())


def _layers(model: Any) -> Iterator[Any]:
    for layer in getattr(model, "layers", ()):
        yield layer
        yield from _layers(layer)


def _outputs(layer: Any) -> list[Any]:
    import keras

    # A layer that was called nowhere or in several places has no single output.
    with suppress(AttributeError, ValueError, RuntimeError):
        return list(keras.tree.flatten(layer.output))
    return []


def _bytes(tensor: Any, batch: int) -> int:
    shape = getattr(tensor, "shape", None)
    if shape is None or getattr(tensor, "dtype", None) in (None, "string"):
        return 0
    # A length that differs from batch to batch is at least one.
    free = [batch, *[1] * len(shape)]
    numbers = math.prod(known or least for known, least in zip(shape, free, strict=False))
    return numbers * _width(tensor.dtype)


def _width(dtype: Any) -> int:
    """Return the bytes of one number."""
    digits = "".join(letter for letter in str(dtype) if letter.isdigit())
    return max(int(digits or 8) // 8, 1)
