"""Layers that end in a weighted sum: where their channels are, and their weights times a factor."""

from typing import Any

import numpy as np

from quickfit.compression.graph import Shape


def has_channels_at(layer: Any, axis: int, shape: Shape) -> bool:
    """Tell whether a layer is a plain weighted sum with its channels at this axis of its output."""
    import keras

    kinds = keras.layers
    if getattr(layer, "quantization_mode", None) or getattr(layer, "lora_enabled", False):
        return False
    if isinstance(layer, kinds.Dense):
        return axis == len(shape) - 1
    if not isinstance(layer, _convolutions()):
        return False
    return axis == (1 if layer.data_format == "channels_first" else len(shape) - 1)


def scaled(layer: Any, factor: Any, offset: Any) -> list[Any]:
    """Return the weights of the layer with a bias, its output times `factor` plus `offset`."""
    weights = [np.asarray(w, np.float64) for w in layer.get_weights()]
    bias = weights.pop() if layer.use_bias else np.zeros_like(factor)
    weights[-1] = _kernel(layer, weights[-1], factor)
    stored = layer.get_weights()[0].dtype
    return [w.astype(stored) for w in (*weights, bias * factor + offset)]


def _kernel(layer: Any, kernel: Any, factor: Any) -> Any:
    import keras

    kinds = keras.layers
    if isinstance(layer, kinds.Conv1DTranspose | kinds.Conv2DTranspose | kinds.Conv3DTranspose):
        return kernel * factor[:, None]
    if isinstance(layer, kinds.DepthwiseConv1D | kinds.DepthwiseConv2D):
        return kernel * factor.reshape(kernel.shape[-2:])
    return kernel * factor


def _convolutions() -> tuple[Any, ...]:
    import keras

    kinds = keras.layers
    return (
        *(kinds.Conv1D, kinds.Conv2D, kinds.Conv3D),
        *(kinds.Conv1DTranspose, kinds.Conv2DTranspose, kinds.Conv3DTranspose),
        *(kinds.DepthwiseConv1D, kinds.DepthwiseConv2D),
        *(kinds.SeparableConv1D, kinds.SeparableConv2D),
    )
