"""Training for int8: a model with rounded kernels and activations, and the plain model after it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from quickfit.compression.batch_norm import folded
from quickfit.compression.copying import (
    SkippedLayer,
    TransformedModel,
    copy_state,
    fresh_layer,
    rebuild_graph,
)
from quickfit.compression.graph import Call, Graph, graph_of
from quickfit.compression.keras_internals import keras_class_name
from quickfit.compression.quantizing.conversion import finite_samples, in_float32, model_batches
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.compression.calibration import Samples

# Models are `Any`: Keras has no types of its own.

# Enough to see the ends of the ranges; training moves them on.
CALIBRATION_SAMPLES = 256
_BATCH = 64
# Two bits are -1, 0 and 1; more than eight are not int8.
_LEAST_BITS, _MOST_BITS = 2, 8


def fake_quantised(
    model: Any, calibration: Any, *, bits: int = 8, weight_bits: int = 8
) -> TransformedModel:
    """Return a model that rounds as int8 does, and that learns to live with it in `fit`.

        made = fake_quantised(model, images)
        made.model.compile(keras.optimizers.Adam(1e-4), loss, metrics=["accuracy"])
        made.model.fit(images, labels, epochs=1)
        exported(made.model, "digits.tflite", "int8")

    Batch normalisation is folded into the layers before it. Kernels are rounded to `weight_bits`
    per output channel, what comes out of a layer to `bits`, in ranges that follow the data. Layers
    it does not know are kept as they are; those with weights are listed in `skipped`.

    Args:
        model: functional or Sequential; it is not changed.
        calibration: some samples as the model takes them, without labels. The first ranges are
            learned from them.
        bits: of activations, 2 to 8. The file has 8 in any case.
        weight_bits: of kernels, 2 to 8. Fewer than 8 make the file smaller only when it is
            compressed: LiteRT keeps them as int8.

    Raises:
        UsageError: bits or samples are wrong.
        ModelError: the model has no graph, such as a subclassed one.
    """
    for name, value in (("bits", bits), ("weight_bits", weight_bits)):
        if not _LEAST_BITS <= value <= _MOST_BITS:
            raise UsageError(f"{name}={value}: it takes {_LEAST_BITS} to {_MOST_BITS}.")
    samples = finite_samples(model, calibration, CALIBRATION_SAMPLES)
    source = folded(in_float32(model))
    graph = graph_of(norms_as_convolutions(source.model))
    placing = FakeQuantPlacer(graph, bits=bits, weight_bits=weight_bits)
    made = rebuild_graph(graph, placing, name=model.name)
    learn_ranges(made, samples)
    skipped = tuple(
        SkippedLayer(one.layer, source.kept.get(one.layer, one.reason)) for one in placing.skipped
    )
    return TransformedModel(made, _fake_quant_notes(skipped), skipped)


def learn_ranges(model: Any, samples: Samples) -> None:
    """Learn the ranges of activations from samples."""
    layers = _fake_quant_layers(model)
    for layer in layers:
        layer.is_watching = True
    try:
        for batch in model_batches(model, samples, _BATCH):
            model(batch, training=False)
    finally:
        for layer in layers:
            layer.is_watching = False


def is_fake_quantised(model: Any) -> bool:
    """Tell whether a model came from `fake_quantised`."""
    return bool(_fake_quant_layers(model))


def stripped(model: Any) -> Any:
    """Return a trained model of `fake_quantised` as a plain one: its kernels hold rounded numbers.

    It has no layers of quickfit in it, and its accuracy is nearly that of the int8 file.

    Raises:
        UsageError: the model is not from `fake_quantised`.
    """
    if not is_fake_quantised(model):
        raise UsageError(
            f"The model '{model.name}' has nothing to strip: it is not from fake_quantised()."
        )
    return rebuild_graph(graph_of(model), _PlainMaker())


def with_ranges(model: Any) -> Any:
    """Return a plain model with the roundings of activations in it: what the converter reads."""
    return rebuild_graph(graph_of(model), _PlainMaker(keeps_ranges=True))


class _PlainMaker:
    """Makes plain layers of those with rounded kernels; given to `rebuilt`.

    Args:
        keeps_ranges: whether activations stay rounded, to the 8 bits that a file has.
    """

    def __init__(self, *, keeps_ranges: bool = False) -> None:
        self._keeps_ranges = keeps_ranges
        self._layers: dict[int, Any] = {}

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        from quickfit.compression.quantizing.fake_activations import FakeQuant
        from quickfit.compression.quantizing.fake_kernels import PLAIN

        if isinstance(call.layer, FakeQuant):
            return self._range(call, tensors) if self._keeps_ranges else tensors[0]
        if type(call.layer) not in PLAIN:
            return None
        known = self._layers.get(id(call.layer))
        layer = known or plain_like(call.layer)
        result = call.replay(layer, tensors)
        if known is None:
            self._layers[id(call.layer)] = layer
            take_weights(layer, call.layer)
        return result

    def _range(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        layer = fresh_layer(call.layer, name=call.name, bits=_MOST_BITS)
        result = call.replay(layer, tensors)
        copy_state(call.layer, layer)
        return result


def _fake_quant_layers(model: Any) -> list[Any]:
    # Looked for by name first: most models have none, and the class needs Keras.
    named = [one for one in getattr(model, "layers", []) if type(one).__name__ == "FakeQuant"]
    if not named:
        return []
    from quickfit.compression.quantizing.fake_activations import FakeQuant

    return [one for one in named if isinstance(one, FakeQuant)]


def _fake_quant_notes(skipped: tuple[SkippedLayer, ...]) -> tuple[str, ...]:
    if not skipped:
        return ()
    return (f"These layers stay in float: {', '.join(one.layer for one in skipped)}.",)


# Layers and tensors are `Any`: Keras has no types of its own.


class FakeQuantPlacer:
    """Makes the layers of a model that is trained for int8; given to `rebuilt`.

    Args:
        graph: of the model, with batch normalisation folded.
        bits: of activations.
        weight_bits: of kernels.
    """

    def __init__(self, graph: Graph, *, bits: int, weight_bits: int) -> None:
        self._skipped: dict[str, SkippedLayer] = {}
        self._graph = graph
        self._bits = bits
        self._weight_bits = weight_bits
        self._layers: dict[int, Any] = {}  # the new ones, by the id of the old
        self._rounded: set[int] = set()  # tensors of the old model that have few values in the new
        self._roundings: dict[int, Any] = {}  # roundings of tensors that are not, made once
        self._names = {call.name for call in graph.calls} | set(graph.input_names)

    @property
    def skipped(self) -> tuple[SkippedLayer, ...]:
        """The layers with weights that stay in float."""
        return tuple(self._skipped.values())

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what stands in place of a call; None to copy it."""
        role = layer_role(call)
        if role is LayerRole.UNKNOWN:
            self._skip(call)
            return None
        if role is LayerRole.MOVING:
            self._rounded.update(call.outputs if self._is_rounded(call.inputs) else ())
            return None
        if role is LayerRole.RECTIFYING:
            return self._after(call, self._copied(call, tensors))
        given = tuple(map(self._round_first, call.inputs, tensors))
        if role is LayerRole.MIXING:
            return self._after(call, self._copied(call, given))
        if role is LayerRole.BENDING:
            return self._bent(call, self._copied(call, given), activation_name(call.layer))
        return self._weighted(call, given, is_separable=role is LayerRole.SEPARABLE)

    def _weighted(self, call: Call, given: tuple[Any, ...], *, is_separable: bool) -> Any:
        import keras

        activation = call.layer.activation
        keeps = is_linear(activation) or (is_free(activation) and takes_rectifier(call.layer))
        own = activation if keeps else keras.activations.linear
        computed = (self._separable if is_separable else self._single)(call, given, own)
        if keeps:
            return self._after(call, computed)
        function = keras.layers.Activation(activation, name=self._name(f"{call.name}_activation"))
        bent = function(self._fake_quant(call.name)(computed))
        return self._bent(call, bent, getattr(activation, "__name__", ""))

    def _single(self, call: Call, given: tuple[Any, ...], activation: Any) -> Any:
        known = self._layers.get(id(call.layer))
        layer = known or fake_like(
            call.layer, weight_bits=self._weight_bits, activation=activation, name=call.name
        )
        result = call.replay(layer, given)
        if known is None:
            self._layers[id(call.layer)] = layer
            copy_state(call.layer, layer)
            layer.trainable = call.trainable
        return result

    def _separable(self, call: Call, given: tuple[Any, ...], activation: Any) -> Any:
        known = self._layers.get(id(call.layer))
        parts = known or separable_parts(
            call.layer, weight_bits=self._weight_bits, activation=activation, name=call.name
        )
        between = self._fake_quant(parts[0].name)(parts[0](given[0]))
        result = parts[1](between)
        if known is None:
            self._layers[id(call.layer)] = parts
            take_separable(call.layer, *parts)
            for part in parts:
                part.trainable = call.trainable
        return result

    def _copied(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        known = self._layers.get(id(call.layer))
        layer = known or fresh_layer(call.layer, name=call.name)
        result = call.replay(layer, tensors)
        if known is None:
            self._layers[id(call.layer)] = layer
            if getattr(layer, "weights", None):
                copy_state(call.layer, layer)
                layer.trainable = call.trainable
        return result

    def _after(self, call: Call, computed: Any) -> Any:
        """Round a result, unless the runtime first does a ReLU on it."""
        (tensor,) = call.outputs
        self._rounded.add(tensor)
        if takes_rectifier(call.layer) and self._is_rectified_next(tensor):
            return computed
        return self._fake_quant(call.name)(computed)

    def _bent(self, call: Call, computed: Any, function: str) -> Any:
        """Round the result of an activation, unless it leaves the model: outputs are float."""
        (tensor,) = call.outputs
        if tensor in self._graph.outputs:
            return computed
        self._rounded.add(tensor)
        return self._fake_quant(call.name, fixed=FIXED_RANGES.get(function))(computed)

    def _is_rectified_next(self, tensor: int) -> bool:
        users = self._graph.users(tensor)
        is_output = tensor in self._graph.outputs
        return not is_output and len(users) == 1 and is_rectifier(users[0].layer)

    def _round_first(self, number: int, tensor: Any) -> Any:
        """Return an input rounded, where it is not yet and holds real numbers."""
        if number in self._rounded or not str(tensor.dtype).startswith("float"):
            return tensor
        if number not in self._roundings:
            producer = self._graph.producer(number)
            self._roundings[number] = self._fake_quant(producer.name if producer else "input")(
                tensor
            )
        return self._roundings[number]

    def _is_rounded(self, numbers: tuple[int, ...]) -> bool:
        return bool(numbers) and all(number in self._rounded for number in numbers)

    def _fake_quant(self, after: str, fixed: tuple[float, float] | None = None) -> Any:
        from quickfit.compression.quantizing.fake_activations import FakeQuant

        return FakeQuant(self._bits, fixed, name=self._name(f"{after}_quant"))

    def _name(self, wanted: str) -> str:
        """Return a name that nobody has."""
        names = (wanted if n == 1 else f"{wanted}_{n}" for n in range(1, len(self._names) + 2))
        name = next(one for one in names if one not in self._names)
        self._names.add(name)
        return name

    def _skip(self, call: Call) -> None:
        if getattr(call.layer, "weights", None):
            self._skipped.setdefault(call.name, SkippedLayer(call.name, why_unknown(call)))


# Layers are `Any`: Keras has no types of its own.


def fake_like(layer: Any, *, weight_bits: int, activation: Any, name: str) -> Any:
    """Return a layer with a rounded kernel; not built yet, so without weights."""
    from quickfit.compression.quantizing.fake_kernels import FAKES

    config = {**_config_of(layer), "activation": activation, "name": name}
    return FAKES[type(layer)](**config, weight_bits=weight_bits)


def plain_like(layer: Any) -> Any:
    """Return the layer of Keras that a layer with a rounded kernel stood in for."""
    from quickfit.compression.quantizing.fake_kernels import PLAIN

    config = _config_of(layer)
    del config["weight_bits"]
    return PLAIN[type(layer)](**config, activation=layer.activation, name=layer.name)


def take_weights(plain: Any, fake: Any) -> None:
    """Give a plain layer, which is built, the weights of the other with the kernel rounded."""
    copy_state(fake, plain)
    plain.kernel.assign(fake.rounded(fake.kernel))


def separable_parts(layer: Any, *, weight_bits: int, activation: Any, name: str) -> tuple[Any, Any]:
    """Return a separable convolution as two layers with rounded kernels, not built yet."""
    from quickfit.compression.quantizing import fake_kernels

    rank = type(layer).__name__[-2:]
    depthwise = getattr(fake_kernels, f"FakeDepthwiseConv{rank}")(
        layer.kernel_size,
        strides=layer.strides,
        padding=layer.padding,
        dilation_rate=layer.dilation_rate,
        depth_multiplier=layer.depth_multiplier,
        use_bias=False,
        depthwise_regularizer=layer.depthwise_regularizer,
        depthwise_constraint=layer.depthwise_constraint,
        name=f"{name}_depthwise",
        weight_bits=weight_bits,
    )
    pointwise = getattr(fake_kernels, f"FakeConv{rank}")(
        layer.filters,
        1,
        use_bias=layer.use_bias,
        activation=activation,
        kernel_regularizer=layer.pointwise_regularizer,
        kernel_constraint=layer.pointwise_constraint,
        bias_regularizer=layer.bias_regularizer,
        bias_constraint=layer.bias_constraint,
        name=name,
        weight_bits=weight_bits,
    )
    return depthwise, pointwise


def take_separable(layer: Any, depthwise: Any, pointwise: Any) -> None:
    """Give the two parts, which are built, the weights of a separable convolution."""
    depthwise.kernel.assign(layer.depthwise_kernel)
    pointwise.kernel.assign(layer.pointwise_kernel)
    if layer.use_bias:
        pointwise.bias.assign(layer.bias)


def _config_of(layer: Any) -> dict[str, Any]:
    """Return the constructor's arguments but the activation and the name.

    Objects of the user's (regularizers, constraints) go over as they are: written down, they would
    not be found again. Initializers do not matter, the weights are given.
    """
    config = {key: value for key, value in layer.get_config().items() if key != "activation"}
    del config["name"]
    for key in config:
        if key.endswith("_initializer"):
            config[key] = "zeros"
        elif key.endswith(("_regularizer", "_constraint")):
            config[key] = getattr(layer, key)
    config["dtype"] = "float32"
    return config


# Models and layers are `Any`: Keras has no types of its own.


def norms_as_convolutions(model: Any) -> Any:
    """Return a model whose batch normalisations of images and sequences are convolutions.

    Those of plain vectors, which follow a Dense layer with an activation, stay as they are.

    LiteRT has no batch normalisation: it multiplies and adds, in float32 where nothing says what
    comes out of the multiplication. As a depthwise convolution it is one operator, in int8, and its
    kernel has one number per channel, which is rounded to itself.
    """
    graph = graph_of(model)
    if not any(_is_replaced(graph, call) for call in graph.calls):
        return model
    made: dict[int, Any] = {}  # one for each layer, however often it is called

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if not _is_replaced(graph, call):
            return None
        known = made.get(id(call.layer))
        layer = known or _pointwise_convolution(len(tensors[0].shape), call.name)
        result = layer(tensors[0])
        if known is None:
            made[id(call.layer)] = layer
            layer.set_weights(_norm_as_weights(call.layer, layer.kernel.shape))
            layer.trainable = call.trainable
        return result

    return rebuild_graph(graph, make)


def _is_replaced(graph: Graph, call: Call) -> bool:
    if keras_class_name(call.layer) != "BatchNormalization" or getattr(call.layer, "renorm", False):
        return False
    rank = len(graph.shape_of(call.inputs[0]))
    # With `training=True` in the call it normalises by its batch, for ever.
    return rank in (3, 4) and call.layer.axis in (-1, rank - 1) and not call.kwargs.get("training")


def _pointwise_convolution(rank: int, name: str) -> Any:
    import keras

    kind = keras.layers.DepthwiseConv2D if rank == 4 else keras.layers.DepthwiseConv1D
    return kind(1, name=name)


def _norm_as_weights(norm: Any, shape: tuple[int, ...]) -> list[Any]:
    scale = 1 / np.sqrt(np.asarray(norm.moving_variance) + norm.epsilon)
    scale = scale * (np.asarray(norm.gamma) if norm.scale else 1.0)
    shift = -np.asarray(norm.moving_mean) * scale
    shift = shift + (np.asarray(norm.beta) if norm.center else 0.0)
    return [scale.reshape(shape), shift]


# Layers are `Any`: Keras has no types of its own.


class LayerRole(Enum):
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


def layer_role(call: Call) -> LayerRole:
    """Return the role of a call; only classes of Keras itself are known."""
    name = keras_class_name(call.layer)
    if name in _RECTIFIED | {"Conv2DTranspose"} and name not in _MIXING:
        separable = name.startswith("Separable")
        if not _is_plain(call.layer):
            return LayerRole.UNKNOWN
        return LayerRole.SEPARABLE if separable else LayerRole.WEIGHTED
    if is_rectifier(call.layer):
        return LayerRole.RECTIFYING
    if name == "UpSampling2D" and call.layer.interpolation == "nearest":
        return LayerRole.MOVING
    if activation_name(call.layer) == "linear":
        return LayerRole.MOVING
    for names, role in (
        (_MIXING, LayerRole.MIXING),
        (_BENDING, LayerRole.BENDING),
        (_MOVING, LayerRole.MOVING),
    ):
        if name in names:
            return role
    return LayerRole.UNKNOWN


def activation_name(layer: Any) -> str:
    """Return which function an activation is: `relu`, `sigmoid`; nothing for what is none."""
    name = keras_class_name(layer)
    if name == "Activation":
        return str(getattr(layer.activation, "__name__", ""))
    return name.lower() if name in ("Softmax", "Sigmoid", "Tanh", "Relu", "Relu6") else ""


def is_rectifier(layer: Any) -> bool:
    """Tell whether a layer is the ReLU, or the one up to six, that is for free."""
    if keras_class_name(layer) == "ReLU":
        is_usual = not layer.negative_slope and not layer.threshold
        return is_usual and layer.max_value in (None, 6)
    return activation_name(layer) in _RECTIFIERS


def takes_rectifier(layer: Any) -> bool:
    """Tell whether the runtime does a ReLU together with this layer."""
    return keras_class_name(layer) in _RECTIFIED


def is_linear(activation: Any) -> bool:
    """Tell whether an activation does nothing."""
    return getattr(activation, "__name__", "") == "linear"


def is_free(activation: Any) -> bool:
    """Tell whether a layer's own activation costs nothing and needs no rounding before it."""
    return getattr(activation, "__name__", "") in ("linear", *_RECTIFIERS)


def why_unknown(call: Call) -> str:
    """Return why a layer stays in float, for people."""
    if not keras_class_name(call.layer):
        return "a layer that quickfit does not know"
    if getattr(call.layer, "data_format", "") == "channels_first":
        return "its channels are first; LiteRT computes with channels last"
    if getattr(call.layer, "lora_rank", None):
        return "it has LoRA weights: merge them first"
    return f"no int8 training for {keras_class_name(call.layer)}"


def _is_plain(layer: Any) -> bool:
    is_first = getattr(layer, "data_format", "channels_last") == "channels_first"
    is_changed = getattr(layer, "lora_rank", None) or getattr(layer, "quantization_mode", None)
    return not (is_first or is_changed)
