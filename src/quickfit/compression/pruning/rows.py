"""What goes into the weighted sums of a layer, as rows: one per place that the kernel looks at."""

import math
from typing import Any

import numpy as np

from quickfit.compression.pruning import kinds


def picks(layer: Any, shape: tuple[int, ...], count: int, draw: np.random.Generator) -> Any:
    """Return which places of which samples to look at: all, or `count` drawn ones, as numbers.

    Args:
        layer: the layer that reads the values.
        shape: the shape of the values, the samples first.
        count: how many places at most.
        draw: draws them.
    """
    total = shape[0] * math.prod(_sizes(layer, shape))
    if total <= count:
        return np.arange(total)
    return np.sort(draw.choice(total, size=count, replace=False))


def sample_of(layer: Any, shape: tuple[int, ...], places: Any) -> Any:
    """Return the sample of each place."""
    return places // math.prod(_sizes(layer, shape))


def rows_of(layer: Any, values: Any, places: Any) -> Any:
    """Return (rows, weights per output): what the layer's kernel is multiplied with.

    Args:
        layer: a Dense layer, a convolution or a separable convolution.
        values: what goes into it.
        places: the places, as `picks` returned them.
    """
    kind = kinds.kind_of(layer)
    if kind == "Dense":
        return values.reshape(-1, values.shape[-1])[places]
    if kind in kinds.SEPARABLE:
        values = _filtered(layer, values)
    values = _channels_last(layer, values)
    if kind in kinds.SEPARABLE:
        return values.reshape(-1, values.shape[-1])[places]
    return _windows(layer, values, places)


def matrix_of(layer: Any) -> Any:
    """Return the kernel as (weights per output, outputs), in the order of the rows."""
    kernel = layer.pointwise_kernel if kinds.kind_of(layer) in kinds.SEPARABLE else layer.kernel
    array = np.asarray(kernel, np.float64)
    return array.reshape(-1, array.shape[-1])


def set_matrix(layer: Any, matrix: Any, bias: Any) -> None:
    """Give a layer a new kernel, and a new bias where it has one."""
    import keras

    kernel = layer.pointwise_kernel if kinds.kind_of(layer) in kinds.SEPARABLE else layer.kernel
    kernel.assign(keras.ops.cast(matrix.reshape(kernel.shape), kernel.dtype))
    if bias is not None:
        layer.bias.assign(keras.ops.cast(bias, layer.bias.dtype))


def _sizes(layer: Any, shape: tuple[int, ...]) -> list[int]:
    """Return the sizes of the layer's output, without samples and channels."""
    kind = kinds.kind_of(layer)
    if kind == "Dense":
        return list(shape[1:-1])
    out = layer.compute_output_shape(shape)
    return list(out[2:] if layer.data_format == "channels_first" else out[1:-1])


def _channels_last(layer: Any, values: Any) -> Any:
    return np.moveaxis(values, 1, -1) if layer.data_format == "channels_first" else values


def _filtered(layer: Any, values: Any) -> Any:
    """Return what the depthwise half of a separable convolution makes."""
    import keras

    strides, dilation = tuple(layer.strides), tuple(layer.dilation_rate)
    padding = layer.padding
    if padding == "causal":  # one-dimensional only
        left = dilation[0] * (layer.kernel_size[0] - 1)
        pads = [(0, 0), (left, 0), (0, 0)]
        is_first = layer.data_format == "channels_first"
        values = np.pad(values, [pads[0], pads[2], pads[1]] if is_first else pads)
        padding = "valid"
    kernel = keras.ops.cast(layer.depthwise_kernel, values.dtype)
    made = keras.ops.depthwise_conv(values, kernel, strides, padding, layer.data_format, dilation)
    return np.asarray(made)


def _windows(layer: Any, values: Any, places: Any) -> Any:
    """Return the inputs under the kernel at each of the places, as rows."""
    reach = [(k - 1) * d + 1 for k, d in zip(layer.kernel_size, layer.dilation_rate, strict=True)]
    sizes = values.shape[1:-1]
    outputs = _sizes(layer, tuple(values.shape)) if layer.data_format != "channels_first" else None
    if outputs is None:
        outputs = _sizes(layer, (values.shape[0], values.shape[-1], *sizes))
    pads = [
        _pad(layer.padding, size, r, (out - 1) * s)
        for size, r, out, s in zip(sizes, reach, outputs, layer.strides, strict=True)
    ]
    padded = np.pad(values, [(0, 0), *pads, (0, 0)])
    sample, *position = np.unravel_index(places, (len(values), *outputs))
    index: list[Any] = [sample.reshape(-1, *[1] * len(reach))]
    for axis, (at, k) in enumerate(zip(position, layer.kernel_size, strict=True)):
        shape = [1] * len(reach)
        shape[axis] = k
        steps = (np.arange(k) * layer.dilation_rate[axis]).reshape(1, *shape)
        index.append((at * layer.strides[axis]).reshape(-1, *[1] * len(reach)) + steps)
    return padded[tuple(index)].reshape(len(places), -1)


def _pad(padding: str, size: int, reach: int, last: int) -> tuple[int, int]:
    """Return how many zeros are put before and after an axis.

    Args:
        padding: as the layer has it.
        size: the size of the axis.
        reach: how far the kernel reaches.
        last: where the last window starts.
    """
    if padding == "causal":
        return reach - 1, 0
    missing = max(last + reach - size, 0) if padding == "same" else 0
    return missing // 2, missing - missing // 2
