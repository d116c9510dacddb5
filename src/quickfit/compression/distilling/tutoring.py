"""A student that learns from labels and from a teacher's logits, through Keras's own Distiller.

Three things of Keras 3.15 are put right here. Its default loss is the function `kl_divergence`,
which it applies to logits as if they were probabilities (it looks for the class `KLDivergence`).
It leaves out sample weights, and the losses of regularizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quickfit.compression.distilling.heads import SIGMOID, SOFTMAX
from quickfit.compression.distilling.splitting import Split
from quickfit.errors import ModelError

# Models, tensors and losses are `Any`: Keras has no types of its own.

# Softer answers show what the teacher takes for similar. 2 to 5 is usual.
TEMPERATURE = 3.0
LABEL_SHARE = 0.5


def tutored(student: Split, teacher: Split, kinds: Sequence[str], temperature: float) -> Any:
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
            answers = _answers(student, y_pred)
            by_labels = student.whole.compute_loss(x, y, answers, sample_weight, training)
            return by_teacher + LABEL_SHARE * by_labels

    try:
        return Tutored(
            teacher.logits,
            student.logits,
            _soft_targets(kinds, temperature),
            student_loss_weight=LABEL_SHARE,
        )
    except ValueError as error:
        raise ModelError(f"The teacher does not fit the student: {error}") from error


def _answers(student: Split, logits: Any) -> Any:
    """Return what the student answers, in the structure of its outputs."""
    import keras

    flat = [
        one if head.activation not in _FUNCTIONS else _function(head.activation)(one)
        for head, one in zip(student.heads, keras.tree.flatten(logits), strict=True)
    ]
    return keras.tree.pack_sequence_as(student.whole.output, flat)


_FUNCTIONS = (SOFTMAX, SIGMOID)


def _function(name: str) -> Any:
    import keras

    # The functions of `keras.activations` leave a mark that lets a loss go back to the logits.
    return keras.activations.get(name)


def _soft_targets(kinds: Sequence[str], temperature: float) -> Any:
    """Return the loss between a teacher's and a student's logits, output by output."""
    import keras

    by_classes = keras.distillation.LogitsDistillation(temperature, keras.losses.KLDivergence())
    by_values = keras.distillation.FeatureDistillation("mse")

    def one(kind: str, teacher: Any, student: Any) -> Any:
        if kind == SIGMOID:
            return _binary(teacher, student, temperature)
        return (by_classes if kind == SOFTMAX else by_values).compute_loss(teacher, student)

    class SoftTargets(keras.distillation.DistillationLoss):  # type: ignore[misc]  # as above
        def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **_: Any) -> Any:
            outputs = map(keras.tree.flatten, (teacher_outputs, student_outputs))
            return sum(one(*both) for both in zip(kinds, *outputs, strict=True))

    return SoftTargets()


def _binary(teacher: Any, student: Any, temperature: float) -> Any:
    """Return the loss of answers that are each yes or no, as `LogitsDistillation` scales it."""
    import keras

    wanted = keras.ops.sigmoid(teacher / temperature)
    losses = keras.ops.binary_crossentropy(wanted, student / temperature, from_logits=True)
    return keras.ops.mean(losses) * temperature**2
