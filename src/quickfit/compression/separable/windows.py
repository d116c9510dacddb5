"""What a convolution sees: the inputs under its kernel, at some of its places."""

import math
from typing import Any

import numpy as np


def output_sizes(layer: Any, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width of what a convolution makes of values of this shape."""
    _, height, width, _ = layer.compute_output_shape(shape)
    return height, width


def windows(layer: Any, values: Any, places: Any) -> Any:
    """Return (places, taps, channels): the inputs that are multiplied with the kernel's taps.

    Args:
        layer: a Conv2D with its channels last.
        values: what goes into it, (samples, height, width, channels).
        places: numbers of values that come out of it, counted over samples, rows and columns.
    """
    made = output_sizes(layer, values.shape)
    sample, rest = np.divmod(places, made[0] * made[1])
    starts = [
        place * stride - before
        for place, stride, before in zip(
            np.divmod(rest, made[1]), layer.strides, _before(layer, values.shape, made), strict=True
        )
    ]
    taps = np.zeros((len(places), math.prod(layer.kernel_size), values.shape[-1]), values.dtype)
    for tap in range(taps.shape[1]):
        down, right = divmod(tap, layer.kernel_size[1])
        row = starts[0] + down * layer.dilation_rate[0]
        column = starts[1] + right * layer.dilation_rate[1]
        # Zeros are around the image. It is not copied for that: it may fill half of the memory.
        inside = (row >= 0) & (row < values.shape[1]) & (column >= 0) & (column < values.shape[2])
        taps[inside, tap] = values[sample[inside], row[inside], column[inside]]
    return taps


def _before(layer: Any, shape: tuple[int, ...], made: tuple[int, int]) -> tuple[int, int]:
    """Return how many rows and columns of zeros TensorFlow puts before the image."""
    if layer.padding == "valid":
        return (0, 0)
    rows, columns = (
        (made[axis] - 1) * layer.strides[axis]
        + (layer.kernel_size[axis] - 1) * layer.dilation_rate[axis]
        + 1
        - shape[1 + axis]
        for axis in (0, 1)
    )
    return max(rows, 0) // 2, max(columns, 0) // 2
