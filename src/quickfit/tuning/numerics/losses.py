"""Finds out which part of a loss is not finite though the outputs of the model are."""

from __future__ import annotations

import re
from typing import Any

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.blame import first_bad_op
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.data import named
from quickfit.tuning.numerics.replay import layers_of
from quickfit.tuning.numerics.step import Step
from quickfit.tuning.numerics.tally import Tally, is_all_finite, tally

# Tensors are `Any`: TensorFlow has no types of its own.

# How TensorFlow 2.16 to 2.21 word it: a label value of 7 which is outside the valid range of [0, 3)
_UNKNOWN_CLASS = re.compile(r"label value of (-?\d+) which is outside the valid range of (.*?\))")


def bad_loss(step: Step) -> Culprit | None:
    """Return the loss, or what a layer added to it, if it is not finite."""
    import tensorflow as tf

    outputs = step.outputs()
    try:
        total = step.total_loss(outputs)
    except tf.errors.InvalidArgumentError as error:
        return _unknown_class(step, error)
    if is_all_finite(total):
        return None
    op, place = first_bad_op(lambda: step.total_loss(outputs))
    adding = _adding_layer(step)
    name = adding or _bad_output(step, outputs) or step.loss_name()
    hint = step.exploded() or (hints.of_op(op) if adding else "") or hints.of_loss(op)
    given = _given(step, outputs)
    return Culprit("loss", name, tally(total), hint, given=given, op=op, place=place)


def _unknown_class(step: Step, error: Exception) -> Culprit:
    """Return the labels where one is outside of the classes: NaN on a GPU, an error on a CPU."""
    said = _UNKNOWN_CLASS.search(str(error))
    if said is None:
        raise error
    name, labels = named(step.y, "y")[0]
    return Culprit("label", name, tally(labels), hints.of_class(said.group(1), said.group(2)))


def _given(step: Step, outputs: Any) -> tuple[tuple[str, Tally], ...]:
    predicted = [("output" + name[1:], tally(one)) for name, one in named(outputs, "o")]
    labels = [(name, tally(one)) for name, one in named(step.y, "y")]
    return (*predicted[:2], *labels[:2])


def _adding_layer(step: Step) -> str | None:
    """Return the innermost layer whose regularizer or `add_loss` is not finite."""
    guilty = [
        layer
        for layer in layers_of(step.model)
        if not all(is_all_finite(one) for one in layer.losses)
    ]
    if not guilty:
        return None
    # Models come before the layers inside of them, and have all of their losses.
    innermost = min(reversed(guilty), key=lambda layer: len(layer.losses))
    return f"{innermost.path} (added loss or regularizer)"


def _bad_output(step: Step, outputs: Any) -> str | None:
    """Return the output of several whose loss is not finite."""
    import keras

    losses = dict(named(getattr(step.model, "loss", None), ""))
    labels, predictions = dict(named(step.y, "")), dict(named(outputs, ""))
    if step.loss is not None or len(losses) < 2:
        return None
    for name, loss in losses.items():
        if loss is not None and name in labels and name in predictions:
            value = keras.losses.get(loss)(labels[name], predictions[name])
            if not is_all_finite(value):
                return f"{step.loss_name()} of output {name}"
    return None
