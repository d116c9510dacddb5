"""`fine_tuned`: a student trained for a short time, and kept only where it became better."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.distilling.aligning import check_pair
from quickfit.compression.distilling.epochs import Checkpoint, Training, better
from quickfit.compression.distilling.labelled import Labelled, labelled
from quickfit.compression.distilling.losses import Goal, goal_of
from quickfit.compression.distilling.scoring import Score, by_function, on_data
from quickfit.compression.distilling.splitting import Split, split
from quickfit.compression.distilling.tutoring import TEMPERATURE, tutored
from quickfit.compression.graph import copied, graph_of
from quickfit.compression.made import Made
from quickfit.compression.norms.kinds import is_norm
from quickfit.compression.norms.recalibration import recalibrate
from quickfit.compression.weighing.tracing import without_tracing_advice
from quickfit.errors import ModelError, UsageError

# Models and data are `Any`: Keras has no types of its own.

LABELS, TEACHER = "labels", "labels and teacher"
# Models that are good already are harmed by more than the first; those that lost much, as half of
# their channels, need the last to come back within a few epochs. So each has to measure better.
RATES = (3e-4, 1e-3, 3e-3)


def fine_tuned(
    student: Any,
    data: Any,
    *,
    teacher: Any = None,
    epochs: int = 1,
    learning_rate: float | None = None,
    validation: Any,
    seed: int = 0,
    temperature: float = TEMPERATURE,
) -> Made:
    """Train a copy of a model for a short time, and keep its best moment: maybe the first.

    It is trained on labels. With a teacher it is trained a second time from the same start, by
    labels and by what the teacher answers; that counts only where it measures better than labels
    alone. After every epoch, `validation` says how good the student is, as it is and with the
    statistics of its batch normalizations measured anew. The best moment is returned, and where
    none beats the start, the student as it was.

    Args:
        student: a functional or Sequential model; it is not changed.
        data: labelled: arrays (x, y), a `tf.data.Dataset` of batches, a `keras.utils.PyDataset`,
            or a list of batches. Sample weights may follow the labels.
        teacher: a model that answers the same question, such as the one that the student was made
            from. It is not changed: a copy of it is asked.
        epochs: of each training.
        learning_rate: of Adam. By default 3e-4, and then from the same start 1e-3 and 3e-3, as long
            as more measures better.
        validation: labelled data that `data` do not hold; or a function that takes a model and
            returns a number, more for better ones.
        seed: of the order of samples. A dataset keeps its own order.
        temperature: how soft the teacher's answers are made.

    Returns:
        The new model, compiled as the student was, and in `notes` what happened.

    Raises:
        UsageError: a value or the data are wrong.
        ModelError: a model cannot be trained, or student and teacher do not fit together.
    """
    _check(epochs, learning_rate, temperature, seed)
    rates = RATES if learning_rate is None else (learning_rate,)
    _check_apart(data, validation)
    own, other = split(student), None if teacher is None else split(teacher)
    feed = labelled(own.graph, data, what="data", seed=seed)
    samples = samples_of(own.graph, data, seed=seed)
    goal = goal_of(own.graph, own.heads, teacher, feed.first[1])
    pupil = _Pupil(student, own, goal)
    if other is not None:
        check_pair(own, other, goal.kinds, samples)
    with without_tracing_advice():
        training = Training(own.whole, pupil.judge(validation), pupil.recalibrating(samples))
        rate, labels = _by_labels(training, pupil, rates, feed, epochs)
        found = [training.start, labels]
        if other is not None:
            trainer = pupil.tutored_by(other, temperature, rate)
            found.append(training.trained(trainer, feed, epochs, TEACHER))
    best = functools.reduce(better, found)
    training.put(best.state)
    return Made(pupil.finished(), (*_notes(found, best), *training.notes))


def _by_labels(
    training: Training, pupil: _Pupil, rates: Sequence[float], feed: Labelled, epochs: int
) -> tuple[float, Checkpoint]:
    """Train at one rate after the other, as long as it helps; return the best rate, and its best.

    Where the first makes the student no better than it was, larger ones are not tried.
    """
    best_rate, best = rates[0], training.start
    found = []
    for rate in rates:
        by = LABELS if rate == rates[0] else f"{LABELS} at a learning rate of {rate:g}"
        found.append(training.trained(pupil.learning_at(rate), feed, epochs, by))
        if not found[-1].score.beats(best.score):
            break
        best_rate, best = rate, found[-1]
    return best_rate, functools.reduce(better, found)


class _Pupil:
    """The copy of the student that is trained, and all that is done to it."""

    def __init__(self, student: Any, own: Split, goal: Goal) -> None:
        self._student, self._own, self._goal = student, own, goal
        if not own.whole.trainable_variables:
            raise ModelError(
                f"The model '{own.graph.name}' has no weights to train: all layers are frozen.\n"
                "    layer.trainable = True"
            )
        self.learning_at(RATES[0])  # so that it can be judged

    def learning_at(self, rate: float) -> Any:
        """Return the copy of the student, compiled anew."""
        whole, goal = self._own.whole, self._goal
        metrics = ["accuracy"] if goal.scores_accuracy else None
        whole.compile(
            self._optimizer(rate), loss=goal.loss, loss_weights=goal.loss_weights, metrics=metrics
        )
        return whole

    def judge(self, validation: Any) -> Callable[[], Score]:
        """Return what says how good the student is now."""
        if callable(validation):
            plain = copied(self._student)

            def asked() -> Score:
                self._give_to(plain)
                return by_function(validation, plain)

            return asked
        kept = labelled(self._own.graph, validation, what="validation", seed=None)
        return lambda: on_data(self._own.whole, kept.feed)

    def recalibrating(self, samples: Samples) -> Callable[[], object] | None:
        """Return what measures the statistics of batch normalizations anew, where there are any."""
        graph = graph_of(self._own.whole)
        if not any(is_norm(call.layer) and call.trainable for call in graph.calls):
            return None
        return lambda: recalibrate(self._own.whole, samples)

    def tutored_by(self, teacher: Split, temperature: float, rate: float) -> Any:
        """Return what trains the student by labels and by a copy of the teacher."""
        trainer = tutored(self._own, teacher, self._goal.kinds, temperature)
        trainer.compile(self._optimizer(rate), loss="mse")  # `compute_loss` has the real one
        return trainer

    def finished(self) -> Any:
        """Return a model like the student, with the variables as they are now."""
        made = copied(self._student)
        self._give_to(made)
        return made

    def _optimizer(self, rate: float) -> Any:
        import keras

        optimizer = keras.optimizers.Adam(rate)
        if self._own.whole.dtype_policy.name == "mixed_float16":
            # Keras would wrap it for the student alone, not for the model around it.
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        # Variables that come up in the first step would make TensorFlow trace it twice.
        optimizer.build(self._own.whole.trainable_variables)
        return optimizer

    def _give_to(self, model: Any) -> None:
        """Copy the variables into a model like the student, layer by layer."""
        for layer in model.layers:
            source = self._own.whole.get_layer(self._own.renamed.get(layer.name, layer.name))
            for ours, theirs in zip(layer.variables, source.variables, strict=True):
                ours.assign(theirs)


def _notes(found: list[Checkpoint], best: Checkpoint) -> list[str]:
    start, labels, *by_teacher = found
    notes = [
        f"Kept: {best.what}: {best.score.text}, and {start.score.text} before training."
        if best is not start
        else f"Training did not make it better ({labels.score.text} at best, "
        f"{start.score.text} before): the model is as it was."
    ]
    for one in by_teacher:
        verdict = "better than" if one.score.beats(labels.score) else "no better than"
        notes.append(
            f"The teacher is {verdict} labels alone: {one.score.text} against {labels.score.text}."
        )
    return notes


def _check(epochs: int, learning_rate: float | None, temperature: float, seed: int) -> None:
    for name, count, least in (("epochs", epochs, 1), ("seed", seed, 0)):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise UsageError(f"{name}={count!r}: it takes a whole number from {least}.")
    rate = RATES[0] if learning_rate is None else learning_rate
    for name, value in (("learning_rate", rate), ("temperature", temperature)):
        is_number = isinstance(value, int | float) and math.isfinite(value)
        if not is_number or value <= 0:
            raise UsageError(f"{name}={value!r}: it takes a number above 0.")


def _check_apart(data: Any, validation: Any) -> None:
    """Find the mistake that is easily made: judging by what was trained on."""
    one, other = (x[0] if isinstance(x, tuple) and x else x for x in (data, validation))
    if one is other:
        raise UsageError(
            "validation holds the very data that are trained on, so it would praise whatever is "
            "learned by heart. Keep some samples apart: data=(x[:800], y[:800]), "
            "validation=(x[800:], y[800:])"
        )
