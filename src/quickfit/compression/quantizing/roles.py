"""What each layer is for int8: computes with weights, mixes tensors, only moves numbers, …"""

from __future__ import annotations

from enum import Enum
from typing import Any

from quickfit.compression.walking.call import Call

# Layers are `Any`: Keras has no types of its own.


class Role(Enum):
    """How a call takes part when its model computes in integers."""

    WEIGHTED = "has a kernel that is rounded; its result is rounded"
    SEPARABLE = "two of these in one"
    MIXING = "computes a new tensor from others, which is rounded"
    RECTIFYING = "a ReLU: the runtime does it together with the layer before it"
    BENDING = "another activation, between two roundings"
    MOVING = "its numbers are those of its input, in other places"
    UNKNOWN = "stays in float"


_MIXING = frozenset(
    {
        *("Add", "Subtract", "Multiply", "Maximum", "Minimum", "Average", "Concatenate"),
        *("GlobalAveragePooling1D", "GlobalAveragePooling2D"),
    }
)
_BENDING = frozenset(
    {
        *("Activation", "LeakyReLU", "PReLU", "ELU", "Softmax", "ReLU"),
        *("Sigmoid", "Tanh", "Silu", "Gelu", "HardSwish", "HardSigmoid", "HardSilu"),
    }
)
_MOVING = frozenset(
    {
        *("MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D"),
        *("GlobalMaxPooling1D", "GlobalMaxPooling2D", "Flatten", "Reshape", "Permute"),
        *("Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianDropout", "GaussianNoise"),
        *("AlphaDropout", "ZeroPadding1D", "ZeroPadding2D", "Cropping1D", "Cropping2D"),
        *("UpSampling1D", "RepeatVector", "Identity", "ActivityRegularization"),
    }
)
# What the runtime can add to an operator that has weights, or adds two tensors, for nothing.
_RECTIFIERS = ("relu", "relu6")
_RECTIFIED = frozenset(
    {*("Conv1D", "Conv2D", "DepthwiseConv1D", "DepthwiseConv2D", "Dense")}
    | {*("SeparableConv1D", "SeparableConv2D", "Add", "Subtract", "Multiply")}
)
# Where the runtime prescribes the steps of a result: 256 of them over these ranges.
FIXED_RANGES = {
    "sigmoid": (0.0, 255 / 256),
    "softmax": (0.0, 255 / 256),
    "tanh": (-1.0, 127 / 128),
}


def role_of(call: Call) -> Role:
    """Return the role of a call; only classes of Keras itself are known."""
    name = class_name(call.layer)
    if name in _RECTIFIED | {"Conv2DTranspose"} and name not in _MIXING:
        separable = name.startswith("Separable")
        if not _is_plain(call.layer):
            return Role.UNKNOWN
        return Role.SEPARABLE if separable else Role.WEIGHTED
    if is_rectifier(call.layer):
        return Role.RECTIFYING
    if name == "UpSampling2D" and call.layer.interpolation == "nearest":
        return Role.MOVING
    if activation_name(call.layer) == "linear":
        return Role.MOVING
    for names, role in ((_MIXING, Role.MIXING), (_BENDING, Role.BENDING), (_MOVING, Role.MOVING)):
        if name in names:
            return role
    return Role.UNKNOWN


def class_name(layer: Any) -> str:
    """Return the name of a class of Keras; nothing for a class of anybody else's."""
    is_own = type(layer).__module__.partition(".")[0] == "keras"
    return type(layer).__name__ if is_own else ""


def activation_name(layer: Any) -> str:
    """Return which function an activation is: `relu`, `sigmoid`; nothing for what is none."""
    name = class_name(layer)
    if name == "Activation":
        return str(getattr(layer.activation, "__name__", ""))
    return name.lower() if name in ("Softmax", "Sigmoid", "Tanh", "Relu", "Relu6") else ""


def is_rectifier(layer: Any) -> bool:
    """Tell whether a layer is the ReLU, or the one up to six, that is for free."""
    if class_name(layer) == "ReLU":
        is_usual = not layer.negative_slope and not layer.threshold
        return is_usual and layer.max_value in (None, 6)
    return activation_name(layer) in _RECTIFIERS


def takes_rectifier(layer: Any) -> bool:
    """Tell whether the runtime does a ReLU together with this layer."""
    return class_name(layer) in _RECTIFIED


def is_linear(activation: Any) -> bool:
    """Tell whether an activation does nothing."""
    return getattr(activation, "__name__", "") == "linear"


def is_free(activation: Any) -> bool:
    """Tell whether a layer's own activation costs nothing and needs no rounding before it."""
    return getattr(activation, "__name__", "") in ("linear", *_RECTIFIERS)


def why_unknown(call: Call) -> str:
    """Return why a layer stays in float, for people."""
    if not class_name(call.layer):
        return "a layer that quickfit does not know"
    if getattr(call.layer, "data_format", "") == "channels_first":
        return "its channels are first; LiteRT computes with channels last"
    if getattr(call.layer, "lora_rank", None):
        return "it has LoRA weights: merge them first"
    return f"no int8 training for {class_name(call.layer)}"


def _is_plain(layer: Any) -> bool:
    is_first = getattr(layer, "data_format", "channels_last") == "channels_first"
    is_changed = getattr(layer, "lora_rank", None) or getattr(layer, "quantization_mode", None)
    return not (is_first or is_changed)
