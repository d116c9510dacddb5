"""What pruning knows about the layers of Keras: how each treats the channels of its input."""

from typing import Any

# Functions of `keras.activations` that treat every number by itself. Others (softmax, glu) look at
# all channels, and a function of the user's may do anything.
ELEMENTWISE = frozenset(
    [
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "selu",
        "gelu",
        "silu",
        "swish",
        "celu",
        "tanh",
        "tanh_shrink",
        "sigmoid",
        "hard_sigmoid",
        "hard_silu",
        "hard_swish",
        "hard_tanh",
        "hard_shrink",
        "soft_shrink",
        "softplus",
        "softsign",
        "exponential",
        "linear",
        "mish",
        "log_sigmoid",
        "threshold",
        "squareplus",
        "sparse_plus",
        "sparse_sigmoid",
    ]
)
# Operations of `keras.ops` by class name, which are no layers.
ELEMENTWISE_OPERATIONS = frozenset(
    [
        "Relu",
        "Relu6",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Gelu",
        "Silu",
        "Celu",
        "Tanh",
        "Sigmoid",
        "HardSigmoid",
        "HardSilu",
        "HardTanh",
        "Softplus",
        "Softsign",
        "Abs",
        "Absolute",
        "Negative",
        "Square",
        "Exp",
        "Identity",
        "Cast",
    ]
)
MERGING_OPERATIONS = frozenset(
    ["Add", "Subtract", "Multiply", "Maximum", "Minimum", "Divide", "TrueDivide"]
)

MERGING = frozenset(["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"])
CONVOLUTIONS = frozenset({"Conv1D", "Conv2D", "Conv3D"})
TRANSPOSED = frozenset({"Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"})
SEPARABLE = frozenset({"SeparableConv1D", "SeparableConv2D"})
DEPTHWISE = frozenset({"DepthwiseConv1D", "DepthwiseConv2D"})
# Layers whose results have channels of their own.
SUMMING = CONVOLUTIONS | TRANSPOSED | SEPARABLE | {"Dense"}
# Layers that treat every channel by itself, wherever the channels are.
POINTWISE = frozenset(
    [
        "ReLU",
        "LeakyReLU",
        "ELU",
        "Activation",
        "Dropout",
        "AlphaDropout",
        "GaussianDropout",
        "GaussianNoise",
        "Identity",
        "ActivityRegularization",
        "Rescaling",
    ]
)
# Layers that treat every channel by itself and know where the channels are.
SPATIAL = frozenset(
    f"{kind}{rank}D"
    for kind in [
        "MaxPooling",
        "AveragePooling",
        "GlobalMaxPooling",
        "GlobalAveragePooling",
        "AdaptiveAveragePooling",
        "AdaptiveMaxPooling",
        "SpatialDropout",
        "ZeroPadding",
        "Cropping",
        "UpSampling",
    ]
    for rank in (1, 2, 3)
)


def kind_of(operation: Any) -> str:
    """Return the class name of a layer as Keras has it; an empty text for a class of another's."""
    kind = type(operation)
    return kind.__name__ if kind.__module__.partition(".")[0] == "keras" else ""


def is_layer(operation: Any) -> bool:
    """Tell whether it is a layer, and no bare operation such as `keras.ops.add`."""
    import keras

    return isinstance(operation, keras.Layer)


def obstacle(layer: Any) -> str:
    """Return why a layer of a known kind has to keep its channels; an empty text where not."""
    if getattr(layer, "quantization_mode", None):
        return "is quantized"
    if getattr(layer, "lora_enabled", False):
        return "has LoRA weights"
    if kind_of(layer) in CONVOLUTIONS and layer.groups != 1:
        return "is a convolution in groups"
    if getattr(layer, "renorm", False):
        return "is batch renormalization"
    if any(size not in (None, 1) for size in getattr(layer, "noise_shape", None) or ()):
        return "has a noise_shape"
    if np_ndim(getattr(layer, "scale", 0)) or np_ndim(getattr(layer, "offset", 0)):
        return "scales every channel by a number of its own"
    return ""


def np_ndim(value: Any) -> int:
    """Return how many axes a value of a configuration has."""
    import numpy as np

    return int(np.ndim(value)) if isinstance(value, list | tuple | np.ndarray) else 0


def mixes_channels(activation: Any) -> bool:
    """Tell whether an activation may look at more than one channel at a time."""
    import keras

    if activation is None:
        return False
    if isinstance(activation, keras.Layer):
        return kind_of(activation) not in {"ReLU", "LeakyReLU", "ELU"}
    name = getattr(activation, "__name__", "")
    return name not in ELEMENTWISE or getattr(keras.activations, name, None) is not activation


def channel_axis(layer: Any, rank: int) -> int:
    """Return where a layer has its channels, counted from the end."""
    return 1 - rank if getattr(layer, "data_format", None) == "channels_first" else -1
