"""A student that learns from a teacher's logits, through Keras's own Distiller.

Three things of Keras 3.15 are put right here. Its default loss is the function `kl_divergence`,
which it applies to logits as if they were probabilities (it looks for the class `KLDivergence`).
It leaves out sample weights, and the losses of regularizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quickfit.compression.calibration import Samples
from quickfit.compression.distilling.heads import LINEAR, SIGMOID, SOFTMAX, UNKNOWN, SplitModel
from quickfit.errors import ModelError

# Models, tensors and losses are `Any`: Keras has no types of its own.

# Softer answers show what the teacher takes for similar. 2 to 5 is usual.
TEMPERATURE = 3.0
LABEL_SHARE = 0.5


def distiller_model(
    student: SplitModel, teacher: SplitModel, kinds: Sequence[str], temperature: float
) -> Any:
    """Return a model to fit: it trains the layers of `student.whole`, which must be compiled.

    Raises:
        ModelError: Keras is too old, or the two do not fit together.
    """
    import keras

    if not hasattr(keras, "distillation"):
        raise ModelError(
            f"Distillation needs Keras 3.12 or newer, and this is {keras.__version__}.\n"
            "    pip install -U keras\nWithout a teacher it trains on labels alone: teacher=None."
        )

    class Tutored(keras.distillation.Distiller):  # type: ignore[misc]  # Keras has no types
        def compute_loss(
            self,
            x: Any = None,
            y: Any = None,
            y_pred: Any = None,
            sample_weight: Any = None,
            training: bool = True,
        ) -> Any:
            by_teacher = super().compute_loss(x=x, y_pred=y_pred, training=training)
            answers = _student_answers(student, y_pred)
            by_labels = student.whole.compute_loss(x, y, answers, sample_weight, training)
            return by_teacher + LABEL_SHARE * by_labels

    try:
        return Tutored(
            teacher.logits,
            student.logits,
            _soft_target_loss(kinds, temperature),
            student_loss_weight=LABEL_SHARE,
        )
    except ValueError as error:
        raise ModelError(f"The teacher does not fit the student: {error}") from error


def _student_answers(student: SplitModel, logits: Any) -> Any:
    """Return what the student answers, in the structure of its outputs."""
    import keras

    flat = [
        one if head.activation not in _FUNCTIONS else _activation_function(head.activation)(one)
        for head, one in zip(student.heads, keras.tree.flatten(logits), strict=True)
    ]
    return keras.tree.pack_sequence_as(student.whole.output, flat)


_FUNCTIONS = (SOFTMAX, SIGMOID)


def _activation_function(name: str) -> Any:
    import keras

    # The functions of `keras.activations` leave a mark that lets a loss go back to the logits.
    return keras.activations.get(name)


def _soft_target_loss(kinds: Sequence[str], temperature: float) -> Any:
    """Return the loss between a teacher's and a student's logits, output by output."""
    import keras

    by_classes = keras.distillation.LogitsDistillation(temperature, keras.losses.KLDivergence())
    by_values = keras.distillation.FeatureDistillation("mse")

    def one(kind: str, teacher: Any, student: Any) -> Any:
        if kind == SIGMOID:
            return _binary_distillation_loss(teacher, student, temperature)
        return (by_classes if kind == SOFTMAX else by_values).compute_loss(teacher, student)

    class SoftTargets(keras.distillation.DistillationLoss):  # type: ignore[misc]  # as above
        def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **_: Any) -> Any:
            outputs = map(keras.tree.flatten, (teacher_outputs, student_outputs))
            return sum(one(*both) for both in zip(kinds, *outputs, strict=True))

    return SoftTargets()


def _binary_distillation_loss(teacher: Any, student: Any, temperature: float) -> Any:
    """Return the loss of answers that are each yes or no, as `LogitsDistillation` scales it."""
    import keras

    wanted = keras.ops.sigmoid(teacher / temperature)
    losses = keras.ops.binary_crossentropy(wanted, student / temperature, from_logits=True)
    return keras.ops.mean(losses) * temperature**2


# Enough to see whether outputs are probabilities.
PROBABILITY_SAMPLES = 32


def check_pair(
    student: SplitModel, teacher: SplitModel, kinds: Sequence[str], samples: Samples
) -> None:
    """Find out whether a student can learn from a teacher.

    Raises:
        ModelError: their inputs or outputs differ, what the outputs are cannot be known, or they
            are probabilities whose logits cannot be reached.
    """
    _check_shapes(student, teacher)
    _check_kinds(student, teacher, kinds)
    for one in (student, teacher):
        _check_probabilities(one, samples)


def _check_shapes(student: SplitModel, teacher: SplitModel) -> None:
    for what in ("inputs", "outputs"):
        ours, theirs = (_tensor_shapes(one, what) for one in (student, teacher))
        if not _shapes_fit(ours, theirs):
            raise ModelError(
                f"The teacher '{teacher.graph.name}' does not fit the student "
                f"'{student.graph.name}': its {what} are {theirs}, and the student's are {ours}."
            )


def _check_kinds(student: SplitModel, teacher: SplitModel, kinds: Sequence[str]) -> None:
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


def _check_probabilities(model: SplitModel, samples: Samples) -> None:
    """Find probabilities where logits are expected: a softmax of them would be nearly flat."""
    import keras

    given = samples.first(PROBABILITY_SAMPLES).given_to(model.graph)
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


def _tensor_shapes(one: SplitModel, what: str) -> list[tuple[int | None, ...]]:
    return [one.graph.shape_of(number) for number in getattr(one.graph, what)]


def _shapes_fit(ours: list[tuple[int | None, ...]], theirs: list[tuple[int | None, ...]]) -> bool:
    if [len(shape) for shape in ours] != [len(shape) for shape in theirs]:
        return False
    pairs = [pair for both in zip(ours, theirs, strict=True) for pair in zip(*both, strict=True)]
    return all(None in pair or pair[0] == pair[1] for pair in pairs)
