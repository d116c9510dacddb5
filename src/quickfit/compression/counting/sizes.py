"""Sizes of tensors, as numbers to multiply."""

import math
from typing import Any

Shape = tuple[int, ...]


def size(shape: Shape) -> int:
    """Return how many values a tensor of this shape holds."""
    return math.prod(shape)


def activated(layer: Any, values: int, name: str = "activation") -> int:
    """Return the operations of a layer's activation: one per value, none for a linear one."""
    import keras

    return 0 if getattr(layer, name, None) in (None, keras.activations.linear) else values


def places(layer: Any, shape: Shape) -> int:
    """Return the number of places of a convolution's map: its size without batch and channels."""
    inner = shape[2:] if layer.data_format == "channels_first" else shape[1:-1]
    return size(inner)


def channels(layer: Any, shape: Shape) -> int:
    """Return the number of channels of a convolution's map."""
    return shape[1] if layer.data_format == "channels_first" else shape[-1]
