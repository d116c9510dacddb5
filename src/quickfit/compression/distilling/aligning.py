"""Whether a teacher and a student answer the same question, and in logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quickfit.compression.calibration import Samples
from quickfit.compression.distilling.heads import LINEAR
from quickfit.compression.distilling.losses import UNKNOWN
from quickfit.compression.distilling.splitting import Split
from quickfit.errors import ModelError

# Enough to see whether outputs are probabilities.
LOOK = 32


def check_pair(student: Split, teacher: Split, kinds: Sequence[str], samples: Samples) -> None:
    """Find out whether a student can learn from a teacher.

    Raises:
        ModelError: their inputs or outputs differ, what the outputs are cannot be known, or they
            are probabilities whose logits cannot be reached.
    """
    _check_shapes(student, teacher)
    _check_kinds(student, teacher, kinds)
    for one in (student, teacher):
        _check_probabilities(one, samples)


def _check_shapes(student: Split, teacher: Split) -> None:
    for what in ("inputs", "outputs"):
        ours, theirs = (_shapes(one, what) for one in (student, teacher))
        if not _fits(ours, theirs):
            raise ModelError(
                f"The teacher '{teacher.graph.name}' does not fit the student "
                f"'{student.graph.name}': its {what} are {theirs}, and the student's are {ours}."
            )


def _check_kinds(student: Split, teacher: Split, kinds: Sequence[str]) -> None:
    pairs = zip(kinds, teacher.heads, student.graph.output_names, strict=True)
    for kind, head, name in pairs:
        if kind == UNKNOWN:
            raise ModelError(
                f"What a teacher has to teach at the output '{name}' cannot be known: it has "
                "neither softmax nor sigmoid, and its loss is not one of Keras for classes or "
                "values. Compile the student with such a loss, or train on labels: teacher=None"
            )
        if head.activation not in (LINEAR, kind):
            raise ModelError(
                f"At the output '{name}' the student's answer is {kind} and the teacher's is "
                f"{head.activation}: one cannot learn from the other."
            )


def _check_probabilities(model: Split, samples: Samples) -> None:
    """Find probabilities where logits are expected: a softmax of them would be nearly flat."""
    import keras

    given = samples.first(LOOK).given_to(model.graph)
    outputs = keras.tree.flatten(model.logits(given, training=False))
    names = model.graph.output_names
    for head, output, name in zip(model.heads, outputs, names, strict=True):
        if head.activation == LINEAR and _are_probabilities(np.asarray(output)):
            raise ModelError(
                f"The output '{name}' of '{model.graph.name}' is probabilities, and the softmax "
                "that makes them is not at its end: the logits that a teacher teaches by cannot be "
                "reached. End the model with Dense(…), Softmax(), or train on labels: teacher=None"
            )


def _are_probabilities(values: Any) -> bool:
    if values.ndim < 2 or values.shape[-1] < 2 or values.min() < 0:
        return False
    return bool(np.allclose(values.sum(axis=-1), 1, atol=1e-3))


def _shapes(one: Split, what: str) -> list[tuple[int | None, ...]]:
    return [one.graph.shape_of(number) for number in getattr(one.graph, what)]


def _fits(ours: list[tuple[int | None, ...]], theirs: list[tuple[int | None, ...]]) -> bool:
    if [len(shape) for shape in ours] != [len(shape) for shape in theirs]:
        return False
    pairs = [pair for both in zip(ours, theirs, strict=True) for pair in zip(*both, strict=True)]
    return all(None in pair or pair[0] == pair[1] for pair in pairs)
