"""Which convolutions can be rewritten, and why the others cannot."""

import math
from typing import Any

from quickfit import units
from quickfit.compression.walking.private import with_sublayers

# With fewer channels there is hardly anything to save, and the first layer of a network, which
# reads colours, is the one that suffers most.
MIN_CHANNELS = 8

INSIDE = "its convolutions are inside it, and it stays whole"


def obstacle(layer: Any, multiplier: int, saving: float) -> str | None:
    """Return why a layer is not rewritten; an empty text where it is.

    Args:
        layer: a layer or operation of a model.
        multiplier: how many filters each channel shall get.
        saving: the share of its operations that must be saved at least.

    Returns:
        None for layers without convolutions: they need no reason.
    """
    import keras

    if not isinstance(layer, keras.Layer):
        return None
    if type(layer) is not keras.layers.Conv2D:
        return _another_kind(layer)
    return _of_kernel(layer) or _of_geometry(layer) or _of_worth(layer, multiplier, saving)


def rank_of(layer: Any, multiplier: int) -> int:
    """Return how many filters per channel a convolution gets: more than its rank are useless."""
    return int(min(multiplier, math.prod(layer.kernel_size), layer.filters))


def saved_share(layer: Any, multiplier: int) -> float:
    """Return the share of its operations that a rewritten convolution saves (negative: it adds)."""
    rank = rank_of(layer, multiplier)
    return 1.0 - rank / int(layer.filters) - rank / int(math.prod(layer.kernel_size))


def _another_kind(layer: Any) -> str | None:
    import keras

    name = type(layer).__name__
    if isinstance(layer, keras.layers.Conv2D):
        return f"{name} is a class of its own, which may not compute what a Conv2D computes"
    if isinstance(layer, _classes("DepthwiseConv1D DepthwiseConv2D")):
        return "it is depthwise already"
    if isinstance(layer, _classes("SeparableConv1D SeparableConv2D")):
        return "it is separable already"
    if isinstance(layer, _convolutions()):
        return f"it is a {name}, not a Conv2D"
    if any(isinstance(part, keras.layers.Conv2D) for part in with_sublayers(layer)):
        return INSIDE
    return None


def _of_kernel(layer: Any) -> str:
    if layer.groups > 1:
        return f"it works in {layer.groups} groups of channels"
    if layer.lora_enabled:
        return "it has LoRA weights beside its kernel"
    if layer.kernel_constraint is not None:
        kind = type(layer.kernel_constraint).__name__
        return f"its kernel is constrained ({kind}), which fitted kernels would break"
    return ""


def _of_geometry(layer: Any) -> str:
    if math.prod(layer.kernel_size) == 1:
        return "it is 1×1: pointwise already"
    channels = layer.kernel.shape[-2]
    if channels < MIN_CHANNELS:
        return f"it reads only {channels} channel{'s' if channels > 1 else ''}"
    if layer.strides[0] != layer.strides[1]:
        return f"its strides {layer.strides} differ, which TensorFlow's depthwise one cannot do"
    if layer.data_format == "channels_first":
        return "its channels come first; only channels_last is rewritten"
    return ""


def _of_worth(layer: Any, multiplier: int, saving: float) -> str:
    share = saved_share(layer, multiplier)
    if share >= saving:
        return ""
    rank = rank_of(layer, multiplier)
    filters = f"{rank} filter{'s' if rank > 1 else ''} per channel"
    if share <= 0:
        return f"with {filters} it would take more operations, not fewer"
    return f"with {filters} it would save only {units.share(share)} of its operations"


def _convolutions() -> tuple[Any, ...]:
    return _classes("Conv1D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose")


def _classes(text: str) -> tuple[Any, ...]:
    import keras

    return tuple(getattr(keras.layers, name) for name in text.split())
