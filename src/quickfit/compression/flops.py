"""The floating-point operations of a prediction, counted layer by layer from shapes alone."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from quickfit.compression.graph import Call, Graph, graph_of, specs_from
from quickfit.compression.keras_internals import calls_its_own_way, has_graph
from quickfit.errors import ModelError, UsageError

Shape = tuple[int, ...]


def tensor_size(shape: Shape) -> int:
    """Return how many values a tensor of this shape holds."""
    return math.prod(shape)


def activation_operations(layer: Any, values: int, name: str = "activation") -> int:
    """Return the operations of a layer's activation: one per value, none for a linear one."""
    import keras

    return 0 if getattr(layer, name, None) in (None, keras.activations.linear) else values


def map_places(layer: Any, shape: Shape) -> int:
    """Return the number of places of a convolution's map: its size without batch and channels."""
    inner = shape[2:] if layer.data_format == "channels_first" else shape[1:-1]
    return tensor_size(inner)


def map_channels(layer: Any, shape: Shape) -> int:
    """Return the number of channels of a convolution's map."""
    return shape[1] if layer.data_format == "channels_first" else shape[-1]


@dataclass(frozen=True)
class Flops:
    """The operations of one prediction; a multiplication and its addition are two.

    Args:
        total: all that are known.
        by_layer: by name of layer; a shared layer counts as often as it is called.
        uncounted: the names of layers whose operations are not known: custom layers, rare ones.
            They are missing in `total`.
    """

    total: int
    by_layer: Mapping[str, int]
    uncounted: tuple[str, ...]


def flops(model: Any, batch: int = 1, *, size: int | tuple[int, ...] | None = None) -> Flops:
    """Count the operations of a model for one batch.

    Args:
        model: a functional or Sequential model, or its graph.
        batch: how many samples; a model with a fixed batch has its own.
        size: for inputs with open sizes, such as (None, None, 3): what to put in their places, in
            their order. One number stands for all of them.

    Raises:
        ModelError: an input has open sizes and `size` is not given, or does not fill them.
    """
    if batch < 1:
        raise UsageError(f"batch says how many samples: 1 or more, and {batch!r} came.")
    graph = model if isinstance(model, Graph) else graph_of(model)
    return _count_calls(
        graph, [_filled_shape(graph, number, batch, size) for number in graph.inputs]
    )


def _count_calls(graph: Graph, inputs: list[Shape]) -> Flops:
    import keras

    given = {
        number: keras.KerasTensor(shape, dtype=graph.dtype_of(number))
        for number, shape in zip(graph.inputs, inputs, strict=True)
    }
    specs = specs_from(graph.calls, given)
    shapes = {number: tuple(spec.shape) for number, spec in specs.items()}
    by_layer: dict[str, int] = {}
    uncounted: dict[str, None] = {}
    for call in graph.calls:
        count = _call_operations(call, shapes)
        if count is None:
            uncounted[call.name] = None
        else:
            by_layer[call.name] = by_layer.get(call.name, 0) + count
    return Flops(sum(by_layer.values()), by_layer, tuple(uncounted))


def _call_operations(call: Call, shapes: Mapping[int, Any]) -> int | None:
    given = [shapes[number] for number in call.data_tensors()]
    made = [shapes[number] for number in call.outputs]
    if any(size is None for shape in (*given, *made) for size in shape):
        return None  # a layer that does not know how large its own result is
    if not has_graph(call.layer):
        return layer_operations(call.layer, given, made)
    inner = graph_of(call.layer)
    inputs = _nested_output_shapes(inner, given)
    counted = _count_calls(inner, inputs) if inputs else None
    return None if counted is None or counted.uncounted else counted.total


def _nested_output_shapes(inner: Graph, given: list[Shape]) -> list[Shape] | None:
    """Return the shapes that a nested model makes of its inputs; None where they do not fit.

    As Keras does, an axis of size 1 at the end is added or taken away.
    """
    taken = []
    for number, shape in zip(inner.inputs, given, strict=False):
        wanted = inner.shape_of(number)
        if len(shape) != len(wanted):
            shape = shape[:-1] if len(shape) > len(wanted) else (*shape, 1)
        if len(shape) != len(wanted):
            return None
        if any(want not in (None, size) for want, size in zip(wanted, shape, strict=True)):
            return None
        taken.append(shape)
    return taken if len(taken) == len(inner.inputs) else None


def _filled_shape(
    graph: Graph, number: int, batch: int, size: int | tuple[int, ...] | None
) -> Shape:
    first, *rest = graph.shape_of(number)
    opened = rest.count(None)
    sizes = [size] * opened if isinstance(size, int) else list(size or ())
    if opened and len(sizes) != opened:
        raise ModelError(_open_sizes(graph, number, opened, size))
    filled = [sizes.pop(0) if one is None else one for one in rest]
    return (first or batch, *filled)


def _open_sizes(graph: Graph, number: int, opened: int, size: Any) -> str:
    name = graph.input_names[graph.inputs.index(number)]
    shape = tuple("…" if one is None else one for one in graph.shape_of(number)[1:])
    example = "224" if opened == 1 else str((224,) * opened)
    came = "" if size is None else f" ({size!r} came)"
    return (
        f"The operations of '{graph.name}' depend on the size of its input '{name}', which is "
        f"open: ({', '.join(map(str, shape))}). Say which size you mean{came}: size={example}"
    )


def layer_operations(layer: Any, given: list[Shape], made: list[Shape]) -> int | None:
    """Return how many operations a call takes; None where its kind is not known.

    Args:
        layer: a layer or an operation.
        given: the shapes of the tensors that go in, with the batch.
        made: the shapes of those that come out.
    """
    import keras

    if not isinstance(layer, keras.Layer):
        return count_operation(layer, given, made)
    if calls_its_own_way(layer):
        return None
    if isinstance(layer, keras.layers.Bidirectional):
        return count_bidirectional(layer, given, made, layer_operations)
    if isinstance(layer, keras.layers.TimeDistributed):
        return count_time_distributed(layer, given, made, layer_operations)
    if isinstance(layer, keras.layers.Activation):
        return activation_operations(layer, tensor_size(made[0]))
    return next(
        (n(layer, given, made) for kind, n in _counter_table() if isinstance(layer, kind)), None
    )


@cache
def _counter_table() -> list[tuple[Any, Any]]:
    """Return kinds of layers with their counters; the first that fits counts."""
    names = {
        count_transposed: "Conv1DTranspose Conv2DTranspose Conv3DTranspose",
        count_depthwise: "DepthwiseConv1D DepthwiseConv2D",
        count_separable: "SeparableConv1D SeparableConv2D",
        count_convolution: "Conv1D Conv2D Conv3D",
        count_dense: "Dense",
        count_einsum_dense: "EinsumDense",
        count_lstm: "LSTM",
        count_gru: "GRU",
        count_simple_rnn: "SimpleRNN",
        count_multi_head: "MultiHeadAttention",
        count_dot_attention: "Attention AdditiveAttention",
        count_pooling: "MaxPooling1D MaxPooling2D MaxPooling3D "
        "AveragePooling1D AveragePooling2D AveragePooling3D",
        count_each_input: "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D "
        "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D",
        count_softmax: "Softmax",
        count_each_output: "ReLU LeakyReLU PReLU ELU",
        count_scaling: "BatchNormalization Rescaling Normalization",
        count_layer_norm: "LayerNormalization GroupNormalization RMSNormalization "
        "UnitNormalization",
        count_merge: "Add Subtract Multiply Average Maximum Minimum",
        count_nothing: "Concatenate Flatten Reshape Permute RepeatVector Identity Embedding "
        "Masking ZeroPadding1D ZeroPadding2D ZeroPadding3D Cropping1D Cropping2D "
        "Cropping3D UpSampling1D UpSampling3D InputLayer Dropout SpatialDropout1D "
        "SpatialDropout2D SpatialDropout3D GaussianNoise GaussianDropout "
        "AlphaDropout ActivityRegularization RandomFlip RandomRotation RandomZoom "
        "RandomTranslation RandomContrast RandomBrightness RandomShear RandomHue "
        "RandomSaturation RandomSharpness RandomColorJitter "
        "RandomColorDegeneration RandomGrayscale RandomPosterization "
        "RandomErasing RandomGaussianBlur RandomInvert RandomPerspective "
        "RandomElasticTransform RandAugment AugMix MixUp CutMix",
    }
    return [(kind, n) for n, text in names.items() for kind in _layer_classes(text)]


def _layer_classes(text: str) -> list[Any]:
    """Return the layers of these names that this release of Keras has."""
    import keras

    found = [getattr(keras.layers, name, None) for name in text.split()]
    return [kind for kind in found if kind is not None]


def count_convolution(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count Conv1D to Conv3D, with groups, strides and dilation."""
    taps = tensor_size(layer.kernel_size) * map_channels(layer, given[0]) // layer.groups
    return int(2 * tensor_size(made[0]) * taps) + _bias_and_activation(layer, made[0])


def count_transposed(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a transposed convolution: every value that comes in meets the whole kernel."""
    taps = tensor_size(layer.kernel_size) * layer.filters
    return int(2 * tensor_size(given[0]) * taps) + _bias_and_activation(layer, made[0])


def count_depthwise(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a depthwise convolution."""
    return 2 * tensor_size(made[0]) * tensor_size(layer.kernel_size) + _bias_and_activation(
        layer, made[0]
    )


def count_separable(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a separable convolution: depthwise, then pointwise."""
    between = map_channels(layer, given[0]) * layer.depth_multiplier
    spots = made[0][0] * map_places(layer, made[0])
    first = 2 * spots * between * tensor_size(layer.kernel_size)
    second = 2 * spots * between * layer.filters
    return int(first + second) + _bias_and_activation(layer, made[0])


def count_dense(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a Dense layer."""
    return 2 * tensor_size(made[0]) * given[0][-1] + _bias_and_activation(layer, made[0])


def count_einsum_dense(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count an EinsumDense: one product per combination of all letters of its equation."""
    left, _, result = layer.equation.replace(" ", "").partition("->")
    first, second = left.split(",")
    sizes = dict(zip(reversed(first.replace("...", "")), reversed(given[0]), strict=False))
    sizes.update(zip(second, layer.kernel.shape, strict=False))
    summed = [sizes[letter] for letter in sizes if letter not in result]
    values = tensor_size(made[0])
    bias = values if layer.bias_axes else 0
    return 2 * values * tensor_size(tuple(summed)) + bias + activation_operations(layer, values)


def _bias_and_activation(layer: Any, made: Shape) -> int:
    return (tensor_size(made) if layer.use_bias else 0) + activation_operations(
        layer, tensor_size(made)
    )


# Products and sums per unit and step beside the gates themselves.
LSTM_EXTRA, GRU_EXTRA = 4, 5
Counter = Callable[[Any, list[Shape], list[Shape]], int | None]


def count_lstm(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count an LSTM: four gates and a state."""
    return _count_recurrent(layer, given[0], gates=4, extra=LSTM_EXTRA)


def count_gru(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a GRU: three gates."""
    return _count_recurrent(layer, given[0], gates=3, extra=GRU_EXTRA)


def count_simple_rnn(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a SimpleRNN."""
    return _count_recurrent(layer, given[0], gates=1, extra=0)


def _count_recurrent(layer: Any, given: Shape, *, gates: int, extra: int) -> int:
    batch, steps, features = given
    units = layer.units
    products = 2 * gates * units * (features + units)
    values = gates * units * (2 if layer.use_bias else 1)  # the bias, and an activation per gate
    return int(batch * steps * (products + values + extra * units))


def count_bidirectional(
    layer: Any, given: list[Shape], made: list[Shape], count: Counter
) -> int | None:
    """Count both directions of a recurrent layer; joining them is free but for sums."""
    ways = [count(part, given, made) for part in (layer.forward_layer, layer.backward_layer)]
    if any(way is None for way in ways):
        return None
    joined = tensor_size(made[0]) if layer.merge_mode in ("sum", "mul", "ave") else 0
    return sum(way or 0 for way in ways) + joined


def count_time_distributed(
    layer: Any, given: list[Shape], made: list[Shape], count: Counter
) -> int | None:
    """Count a TimeDistributed: its steps are so many samples more."""
    before, after = ([(s[0] * s[1], *s[2:])] for s in (given[0], made[0]))
    return count(layer.layer, before, after)


def count_dot_attention(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count Attention and AdditiveAttention: query · key, softmax, times value."""
    query, value = given[0], given[1]
    pairs = query[0] * query[1] * value[1]
    return pairs * (2 * query[2] + SOFTMAX_OPERATIONS + 2 * value[2])


def count_multi_head(layer: Any, given: list[Shape], made: list[Shape]) -> int | None:
    """Count a MultiHeadAttention on sequences: projections, scores, softmax, sums, projection."""
    query, value = given[0], given[1]
    key = given[2] if len(given) > 2 else value
    if len(query) != 3 or len(value) != 3:
        return None
    heads, key_size, value_size = layer.num_heads, layer.key_dim, layer.value_dim or layer.key_dim
    inner = heads * (query[1] * query[2] + key[1] * key[2]) * key_size
    inner += heads * (value[1] * value[2] + query[1] * made[0][2]) * value_size
    pairs = heads * query[1] * value[1]
    scores = pairs * (2 * key_size + SOFTMAX_OPERATIONS + 2 * value_size)
    bias = heads * (key_size * (query[1] + key[1]) + value_size * value[1]) + tensor_size(
        made[0][1:]
    )
    return int(query[0] * (2 * inner + scores + (bias if layer.use_bias else 0)))


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


def count_pooling(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a pooling layer: each value that comes out looks at a window."""
    return tensor_size(made[0]) * tensor_size(layer.pool_size)


def count_each_input(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count one operation per value that comes in: global pooling, sums."""
    return tensor_size(given[0])


def count_each_output(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count one operation per value that comes out."""
    return tensor_size(made[0])


def count_merge(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count one operation per value for every input but the first."""
    return tensor_size(made[0]) * max(len(given) - 1, 1)


def count_scaling(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a factor and an offset per value."""
    return NORM_OPERATIONS * tensor_size(made[0])


def count_layer_norm(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a normalization whose statistics are measured for every sample."""
    return LAYER_NORM_OPERATIONS * tensor_size(made[0])


def count_softmax(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a softmax."""
    return SOFTMAX_OPERATIONS * tensor_size(made[0])


def count_nothing(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count what does nothing in prediction, or only moves values."""
    return 0


def count_operation(op: Any, given: list[Shape], made: list[Shape]) -> int | None:
    """Count a `keras.ops` call by the name of its class; None where it is not known."""
    kind = type(op).__name__
    if kind in FREE_OPERATIONS:
        return 0
    if kind in VALUE_OPERATIONS:
        return tensor_size(made[0])
    if kind in FOLDING_OPERATIONS:
        return tensor_size(given[0])
    if kind in {"Softmax", "LogSoftmax"}:
        return SOFTMAX_OPERATIONS * tensor_size(made[0])
    if kind == "Matmul" and len(given[0]) > 1:
        return 2 * tensor_size(made[0]) * given[0][-1]
    return None
