"""Operations of layers and `keras.ops` that work value by value, or only move values."""

from typing import Any

from quickfit.compression.counting.sizes import Shape, size

# Center and scale, with the constants of prediction worked out beforehand.
NORM_OPERATIONS = 2
# Mean, difference, square, mean, division, factor, offset: measured again for every sample.
LAYER_NORM_OPERATIONS = 7
# Largest value, difference, exponential, sum, division.
SOFTMAX_OPERATIONS = 5

FREE_OPERATIONS = frozenset(
    [
        "BroadcastTo",
        "Cast",
        "Concatenate",
        "Copy",
        "ExpandDims",
        "Flip",
        "GetItem",
        "Identity",
        "Moveaxis",
        "Pad",
        "Ravel",
        "Repeat",
        "Reshape",
        "Roll",
        "Slice",
        "Split",
        "Squeeze",
        "Stack",
        "StopGradient",
        "Swapaxes",
        "Take",
        "Tile",
        "Transpose",
    ]
)
VALUE_OPERATIONS = frozenset(
    [
        "Absolute",
        "Add",
        "Clip",
        "Divide",
        "Elu",
        "Equal",
        "Exp",
        "Expm1",
        "Floor",
        "Gelu",
        "Greater",
        "GreaterEqual",
        "HardSigmoid",
        "HardSilu",
        "LeakyRelu",
        "Less",
        "LessEqual",
        "Log",
        "Log1p",
        "LogicalAnd",
        "LogicalNot",
        "LogicalOr",
        "Maximum",
        "Minimum",
        "Multiply",
        "Negative",
        "NotEqual",
        "Power",
        "Reciprocal",
        "Relu",
        "Relu6",
        "Rsqrt",
        "Selu",
        "Sigmoid",
        "Sign",
        "Silu",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Square",
        "Subtract",
        "Tanh",
        "TrueDivide",
        "Where",
    ]
)
FOLDING_OPERATIONS = frozenset(["All", "Any", "Max", "Mean", "Min", "Prod", "Sum"])


def pooling(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a pooling layer: each value that comes out looks at a window."""
    return size(made[0]) * size(layer.pool_size)


def each_input(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count one operation per value that comes in: global pooling, sums."""
    return size(given[0])


def each_output(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count one operation per value that comes out."""
    return size(made[0])


def merge(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count one operation per value for every input but the first."""
    return size(made[0]) * max(len(given) - 1, 1)


def scaling(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a factor and an offset per value."""
    return NORM_OPERATIONS * size(made[0])


def layer_norm(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a normalization whose statistics are measured for every sample."""
    return LAYER_NORM_OPERATIONS * size(made[0])


def softmax(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a softmax."""
    return SOFTMAX_OPERATIONS * size(made[0])


def free(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count what does nothing in prediction, or only moves values."""
    return 0


def operation(op: Any, given: list[Shape], made: list[Shape]) -> int | None:
    """Count a `keras.ops` call by the name of its class; None where it is not known."""
    kind = type(op).__name__
    if kind in FREE_OPERATIONS:
        return 0
    if kind in VALUE_OPERATIONS:
        return size(made[0])
    if kind in FOLDING_OPERATIONS:
        return size(given[0])
    if kind in {"Softmax", "LogSoftmax"}:
        return SOFTMAX_OPERATIONS * size(made[0])
    if kind == "Matmul" and len(given[0]) > 1:
        return 2 * size(made[0]) * given[0][-1]
    return None
