"""What a student is trained for: the loss of its compile, or the one that its output asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.distilling.heads import LINEAR, SIGMOID, SOFTMAX, Head
from quickfit.compression.graph import Graph
from quickfit.compression.walking.private import compile_arguments
from quickfit.errors import ModelError

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


def goal_of(graph: Graph, heads: tuple[Head, ...], teacher: Any, labels: Any) -> Goal:
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
        loss, weights = _guessed(graph, heads, labels), None
    losses = _by_output(graph, loss)
    kinds = tuple(_kind(head, one) for head, one in zip(heads, losses, strict=True))
    is_one = len(heads) == 1
    has_classes = is_one and (kinds[0] == SOFTMAX or heads[0].activation == SIGMOID)
    return Goal(loss, weights, kinds, has_classes)


def _guessed(graph: Graph, heads: tuple[Head, ...], labels: Any) -> Any:
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


def _kind(head: Head, loss: Any) -> str:
    """Return what an output is, by its activation first and by its loss else."""
    if head.activation != LINEAR:
        return head.activation
    name = _plain(loss)
    if name in _CATEGORICAL:
        return SOFTMAX
    if name in _BINARY:
        return SIGMOID
    return VALUES if name in _VALUES else UNKNOWN


def _plain(loss: Any) -> str:
    import keras

    if isinstance(loss, str):
        loss = keras.losses.get(loss)
    name = getattr(loss, "__name__", type(loss).__name__)
    return str(name).replace("_", "").lower()
