"""Operations of layers that are weighted sums: convolutions, Dense, EinsumDense."""

from typing import Any

from quickfit.compression.counting.sizes import Shape, activated, channels, places, size


def convolution(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count Conv1D to Conv3D, with groups, strides and dilation."""
    taps = size(layer.kernel_size) * channels(layer, given[0]) // layer.groups
    return int(2 * size(made[0]) * taps) + _ending(layer, made[0])


def transposed(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a transposed convolution: every value that comes in meets the whole kernel."""
    taps = size(layer.kernel_size) * layer.filters
    return int(2 * size(given[0]) * taps) + _ending(layer, made[0])


def depthwise(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a depthwise convolution."""
    return 2 * size(made[0]) * size(layer.kernel_size) + _ending(layer, made[0])


def separable(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a separable convolution: depthwise, then pointwise."""
    between = channels(layer, given[0]) * layer.depth_multiplier
    spots = made[0][0] * places(layer, made[0])
    first = 2 * spots * between * size(layer.kernel_size)
    second = 2 * spots * between * layer.filters
    return int(first + second) + _ending(layer, made[0])


def dense(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a Dense layer."""
    return 2 * size(made[0]) * given[0][-1] + _ending(layer, made[0])


def einsum_dense(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count an EinsumDense: one product per combination of all letters of its equation."""
    left, _, result = layer.equation.replace(" ", "").partition("->")
    first, second = left.split(",")
    sizes = dict(zip(reversed(first.replace("...", "")), reversed(given[0]), strict=False))
    sizes.update(zip(second, layer.kernel.shape, strict=False))
    summed = [sizes[letter] for letter in sizes if letter not in result]
    values = size(made[0])
    bias = values if layer.bias_axes else 0
    return 2 * values * size(tuple(summed)) + bias + activated(layer, values)


def _ending(layer: Any, made: Shape) -> int:
    return (size(made) if layer.use_bias else 0) + activated(layer, size(made))
