"""The outputs of a model: logits, the activation behind them, and the loss that fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.copying import copy_flags, copy_state, fresh_layer, rebuild_graph
from quickfit.compression.graph import Call, Graph, graph_of
from quickfit.compression.keras_internals import compile_arguments, keras_class_name
from quickfit.errors import ModelError

# Layers and functions are `Any`: Keras has no types of its own.

SOFTMAX, SIGMOID, LINEAR = "softmax", "sigmoid", "linear"
# Layers of Keras that end in their activation, and can be built without it.
_WITH_ACTIVATION = frozenset(
    f"Conv{n}D{transposed}" for n in (1, 2, 3) for transposed in ("", "Transpose")
) | {"Dense", "EinsumDense", "SeparableConv1D", "SeparableConv2D", "DepthwiseConv2D"}


@dataclass(frozen=True)
class Head:
    """How one output of a model comes about.

    Args:
        activation: `softmax`, `sigmoid`, or `linear` where there is none of these at the end.
        call: the call that has it; None for `linear`.
        is_inside: whether it is part of a layer with weights, and not a layer of its own.
    """

    activation: str
    call: Call | None = None
    is_inside: bool = False


def model_heads(graph: Graph) -> tuple[Head, ...]:
    """Return one head per output of a model, in the order of `graph.outputs`."""
    return tuple(_head_of_output(graph, tensor) for tensor in graph.outputs)


def _head_of_output(graph: Graph, tensor: int) -> Head:
    call = graph.producer(tensor)
    while call is not None and _passes_on(call):
        call = graph.producer(call.inputs[0])
    if call is None or not _is_over_last_axis(call.layer):
        return Head(LINEAR)
    activation = _call_activation(call)
    if activation == LINEAR:
        return Head(LINEAR)
    return Head(activation, call, is_inside=keras_class_name(call.layer) in _WITH_ACTIVATION)


def _call_activation(call: Call) -> str:
    kind = keras_class_name(call.layer)
    if kind in ("Softmax", "Sigmoid") and len(call.inputs) == 1:
        return kind.lower()  # a layer, or an operation of `keras.ops`
    if kind == "Activation" or kind in _WITH_ACTIVATION:
        return _activation_name(call.layer.activation)
    return LINEAR


def _activation_name(function: Any) -> str:
    import keras

    known = {keras.activations.softmax: SOFTMAX, keras.activations.sigmoid: SIGMOID}
    try:
        return known.get(function, LINEAR)
    except TypeError:  # a callable object that cannot be hashed
        return LINEAR


def _passes_on(call: Call) -> bool:
    """Whether a call hands its input on as it is, such as a cast to float32 at the very end."""
    import keras

    kind = keras_class_name(call.layer)
    is_linear = kind == "Activation" and call.layer.activation is keras.activations.linear
    return (kind in ("Identity", "Cast") or is_linear) and len(call.inputs) == 1


def _is_over_last_axis(layer: Any) -> bool:
    return getattr(layer, "axis", -1) in (-1, [-1], (-1,))


# Models and tensors are `Any`: Keras has no types of its own.


@dataclass(frozen=True)
class SplitModel:
    """A copy of a model that gives answers and logits; both models share all their layers.

    Args:
        graph: of the model that was copied.
        heads: how its outputs come about.
        whole: the copy. Its outputs have the names and the structure of the original's.
        logits: gives what goes into softmax or sigmoid, in float32: a tensor, or a list of them.
        renamed: names of layers in the original that have another one in the copy.
    """

    graph: Graph
    heads: tuple[Head, ...]
    whole: Any
    logits: Any
    renamed: Mapping[str, str]


def split_logits(model: Any) -> SplitModel:
    """Return a copy of a model whose logits can be reached; `model` is not changed."""
    import keras

    graph = graph_of(model)
    making = _SplitMaker(graph, model_heads(graph))
    whole = rebuild_graph(graph, making)
    ends = [making.end(graph, n, whole.outputs[i]) for i, n in enumerate(graph.outputs)]
    wide = [end if end.dtype == "float32" else keras.ops.cast(end, "float32") for end in ends]
    logits = keras.Model(whole.input, wide[0] if len(wide) == 1 else wide, name="logits")
    return SplitModel(graph, making.heads, whole, logits, making.renamed)


class _SplitMaker:
    """Asked by `rebuilt` for every call: remembers logits, and sets activations apart."""

    def __init__(self, graph: Graph, heads: tuple[Head, ...]) -> None:
        self.heads = heads
        self._taken = {*graph.input_names, *(call.name for call in graph.calls)}
        self.renamed: dict[str, str] = {}
        self._ends = {call: head for head in heads if (call := head.call) is not None}
        self._inside = {id(call.layer) for call, head in self._ends.items() if head.is_inside}
        self._linears: dict[int, Any] = {}  # by id of the original layer
        self._activations: dict[int, Any] = {}
        self._logits: dict[int, Any] = {}  # by number of the head's tensor in the graph

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        if id(call.layer) not in self._inside:
            if call in self._ends:
                self._logits[call.outputs[0]] = tensors[0]
            return None  # copied as it is
        logits = self._linear(call, tensors)
        self._logits[call.outputs[0]] = logits
        return self._activations[id(call.layer)](logits)

    def _linear(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what the layer makes before its activation; a shared layer has one copy."""
        import keras

        if id(call.layer) in self._linears:
            return call.replay(self._linears[id(call.layer)], tensors)
        self.renamed[call.name] = self._free(f"{call.name}_logits")
        linear = fresh_layer(call.layer, name=self.renamed[call.name], activation=LINEAR)
        logits = call.replay(linear, tensors)
        copy_state(call.layer, linear)
        copy_flags(call.layer, linear, trainable=call.trainable)
        self._linears[id(call.layer)] = linear
        self._activations[id(call.layer)] = keras.layers.Activation(
            call.layer.activation, name=call.name, dtype=linear.dtype_policy
        )
        return logits

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        return name

    def end(self, graph: Graph, number: int, output: Any) -> Any:
        """Return the logits of an output; the output itself where it has no activation."""
        head = self.heads[graph.outputs.index(number)]
        return output if head.call is None else self._logits[head.call.outputs[0]]


# Losses are `Any`: names, functions and objects of Keras, or structures of them.

VALUES, UNKNOWN = "values", "unknown"
_CATEGORICAL = {
    "categoricalcrossentropy",
    "sparsecategoricalcrossentropy",
    "categoricalfocalcrossentropy",
}
_BINARY = {"binarycrossentropy", "binaryfocalcrossentropy"}
_VALUES = {
    *("meansquarederror", "meanabsoluteerror", "huber", "logcosh"),
    *("meanabsolutepercentageerror", "meansquaredlogarithmicerror"),
}


@dataclass(frozen=True)
class Goal:
    """The loss of a training.

    Args:
        loss: as `compile` takes it.
        loss_weights: likewise.
        kinds: what each output is: `softmax` or `sigmoid` (probabilities, or the logits of them),
            `values`, or `unknown`.
        scores_accuracy: whether Keras can count right answers.
    """

    loss: Any
    loss_weights: Any
    kinds: tuple[str, ...]
    scores_accuracy: bool


def training_goal(graph: Graph, heads: tuple[Head, ...], teacher: Any, labels: Any) -> Goal:
    """Return what to train a student for.

    Args:
        graph: of the student.
        heads: how its outputs come about.
        teacher: whose loss is taken where the student is not compiled; None where there is none.
        labels: of one batch.

    Raises:
        ModelError: the loss cannot be known.
    """
    loss, weights = None, None
    for model in (graph.model, teacher):
        if loss is None and model is not None and model.compiled:
            arguments = compile_arguments(model)
            loss, weights = arguments.get("loss"), arguments.get("loss_weights")
    if loss is None:
        loss, weights = _guess_goal(graph, heads, labels), None
    losses = _by_output(graph, loss)
    kinds = tuple(_output_kind(head, one) for head, one in zip(heads, losses, strict=True))
    is_one = len(heads) == 1
    has_classes = is_one and (kinds[0] == SOFTMAX or heads[0].activation == SIGMOID)
    return Goal(loss, weights, kinds, has_classes)


def _guess_goal(graph: Graph, heads: tuple[Head, ...], labels: Any) -> Any:
    if len(heads) > 1 or heads[0].activation == LINEAR:
        what = "several outputs" if len(heads) > 1 else "an output without softmax or sigmoid"
        raise ModelError(
            f"What to train '{graph.name}' for cannot be known: it has {what}, and it is not "
            "compiled. Compile it with its loss first:\n"
            "    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))"
        )
    if heads[0].activation == SIGMOID:
        return "binary_crossentropy"
    shape, outputs = np.shape(labels), graph.shape_of(graph.outputs[0])
    is_one_hot = len(shape) == len(outputs) and shape[-1] == outputs[-1] and shape[-1] != 1
    return "categorical_crossentropy" if is_one_hot else "sparse_categorical_crossentropy"


def _by_output(graph: Graph, loss: Any) -> list[Any]:
    """Return the loss of each output, in the order of `graph.outputs`; None where it has none."""
    if isinstance(loss, Mapping):
        structure = graph.output_structure
        keys = structure if isinstance(structure, Mapping) else {}
        numbered = {ref.number: key for key, ref in keys.items()}
        names = zip(graph.outputs, graph.output_names, strict=True)
        return [loss.get(numbered.get(number, name), loss.get(name)) for number, name in names]
    if isinstance(loss, list | tuple):
        return [*loss, *[None] * len(graph.outputs)][: len(graph.outputs)]
    return [loss] * len(graph.outputs)


def _output_kind(head: Head, loss: Any) -> str:
    """Return what an output is, by its activation first and by its loss else."""
    if head.activation != LINEAR:
        return head.activation
    name = loss_name(loss)
    if name in _CATEGORICAL:
        return SOFTMAX
    if name in _BINARY:
        return SIGMOID
    return VALUES if name in _VALUES else UNKNOWN


def loss_name(loss: Any) -> str:
    """Return the name of a loss of any form, in lower case and without underscores."""
    import keras

    if isinstance(loss, str):
        loss = keras.losses.get(loss)
    name = getattr(loss, "__name__", type(loss).__name__)
    return str(name).replace("_", "").lower()
