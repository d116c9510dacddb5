"""`fine_tuned`: a student trained for a short time, and kept only where it became better."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.batch_norm import is_norm, recalibrate_in_place
from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.copying import TransformedModel, copied
from quickfit.compression.distilling.heads import Goal, SplitModel, split_logits, training_goal
from quickfit.compression.distilling.teacher import TEMPERATURE, check_pair, distiller_model
from quickfit.compression.graph import graph_of
from quickfit.compression.labelled_data import TrainingData, training_data
from quickfit.compression.weighing.benchmark import without_tracing_advice
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
) -> TransformedModel:
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
    _check_options(epochs, learning_rate, temperature, seed)
    rates = RATES if learning_rate is None else (learning_rate,)
    _check_apart(data, validation)
    own, other = split_logits(student), None if teacher is None else split_logits(teacher)
    feed = training_data(own.graph, data, what="data", seed=seed)
    samples = samples_of(own.graph, data, seed=seed)
    goal = training_goal(own.graph, own.heads, teacher, feed.first[1])
    pupil = _Pupil(student, own, goal)
    if other is not None:
        check_pair(own, other, goal.kinds, samples)
    with without_tracing_advice():
        training = EpochTraining(own.whole, pupil.judge(validation), pupil.recalibrating(samples))
        rate, labels = _train_on_labels(training, pupil, rates, feed, epochs)
        found = [training.start, labels]
        if other is not None:
            trainer = pupil.tutored_by(other, temperature, rate)
            found.append(training.trained(trainer, feed, epochs, TEACHER))
    best = functools.reduce(better_checkpoint, found)
    training.put(best.state)
    return TransformedModel(pupil.finished(), (*_training_notes(found, best), *training.notes))


def _train_on_labels(
    training: EpochTraining, pupil: _Pupil, rates: Sequence[float], feed: TrainingData, epochs: int
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
    return best_rate, functools.reduce(better_checkpoint, found)


class _Pupil:
    """The copy of the student that is trained, and all that is done to it."""

    def __init__(self, student: Any, own: SplitModel, goal: Goal) -> None:
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
                return score_by_function(validation, plain)

            return asked
        kept = training_data(self._own.graph, validation, what="validation", seed=None)
        return lambda: score_on_data(self._own.whole, kept.feed)

    def recalibrating(self, samples: Samples) -> Callable[[], object] | None:
        """Return what measures the statistics of batch normalizations anew, where there are any."""
        graph = graph_of(self._own.whole)
        if not any(is_norm(call.layer) and call.trainable for call in graph.calls):
            return None
        return lambda: recalibrate_in_place(self._own.whole, samples)

    def tutored_by(self, teacher: SplitModel, temperature: float, rate: float) -> Any:
        """Return what trains the student by labels and by a copy of the teacher."""
        trainer = distiller_model(self._own, teacher, self._goal.kinds, temperature)
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


def _training_notes(found: list[Checkpoint], best: Checkpoint) -> list[str]:
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


def _check_options(epochs: int, learning_rate: float | None, temperature: float, seed: int) -> None:
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


# Models and arrays are `Any`: Keras has no types of its own.
State = list[Any]


@dataclass(frozen=True)
class Checkpoint:
    """A model at one moment of its training.

    Args:
        what: which moment, in words.
        score: how good it was.
        state: its variables.
    """

    what: str
    score: Score
    state: State


def better_checkpoint(best: Checkpoint, other: Checkpoint) -> Checkpoint:
    """Return the better of two; the first where they are as good."""
    return other if other.score.beats(best.score) else best


class EpochTraining:
    """Trains one model, and remembers the best of what it was.

    Args:
        model: whose variables are trained; its own, in place.
        judge: says how good it is now.
        recalibrate: measures the statistics of its batch normalizations anew, in place; None where
            it has none.
    """

    def __init__(
        self, model: Any, judge: Callable[[], Score], recalibrate: Callable[[], object] | None
    ) -> None:
        self._model, self._judge, self._recalibrate = model, judge, recalibrate
        self.start = self._now("before training")
        self.notes: list[str] = []

    def trained(self, trainer: Any, data: TrainingData, epochs: int, by: str) -> Checkpoint:
        """Train from the start, and return the best moment after it.

        Args:
            trainer: what is fitted: the model itself, or a model around its layers.
            data: for it.
            epochs: how many at most; it ends early where the loss is not finite any more.
            by: what it learns from, in words.
        """
        self.put(self.start.state)
        best, loss = self._epoch(trainer, data, 1, by)
        for epoch in range(2, epochs + 1):
            if not math.isfinite(loss):
                break
            one, loss = self._epoch(trainer, data, epoch, by)
            best = better_checkpoint(best, one)
        if not math.isfinite(loss):
            self.notes.append(
                f"Training on {by} was ended: the loss was {loss}. Try a smaller learning_rate."
            )
        return best

    def _epoch(
        self, trainer: Any, data: TrainingData, epoch: int, by: str
    ) -> tuple[Checkpoint, float]:
        """Train for one epoch; return the better moment after it, and the loss."""
        data.begin(epoch)
        with explain_failure("The training"):
            history = trainer.fit(data.feed, epochs=1, verbose=0, shuffle=False)
        first, *others = self._moments(f"{by}, epoch {epoch}")
        for one in others:
            first = better_checkpoint(first, one)
        return first, float(history.history["loss"][-1])

    def put(self, state: State) -> None:
        """Give the model the variables of another moment."""
        for variable, value in zip(self._model.variables, state, strict=True):
            variable.assign(value)

    def _moments(self, what: str) -> list[Checkpoint]:
        """Return the model as it is, and with statistics that fit its weights as they are now.

        Those of a short training lag behind: they are averages over many steps.
        """
        plain = self._now(what)
        if self._recalibrate is None or not _is_finite(plain.state):
            return [plain]
        self._recalibrate()
        other = self._now(f"{what}, statistics of batch normalization measured anew")
        self.put(plain.state)
        return [plain, other]

    def _now(self, what: str) -> Checkpoint:
        state = [np.asarray(one).copy() for one in self._model.variables]
        return Checkpoint(what, self._judge(), state)


def _is_finite(state: State) -> bool:
    return all(np.isfinite(one).all() for one in state if one.dtype.kind == "f")


# Models are `Any`: Keras has no types of its own.


@dataclass(frozen=True)
class Score:
    """How good a model is.

    Args:
        rank: to compare by; more is better, the first number counts most.
        text: for people.
    """

    rank: tuple[float, ...]
    text: str

    def beats(self, other: Score) -> bool:
        """Tell whether this one is better; as good is not."""
        return self.rank > other.rank


def score_by_function(evaluate: Callable[[Any], float], model: Any) -> Score:
    """Return what a function of the user's says about a model; more is better.

    Raises:
        UsageError: it returned something that is no number.
    """
    value = evaluate(model)
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"validation() returned {value!r}, and a number is needed that is higher for better "
            "models, such as the share of right answers."
        ) from error
    return Score((_comparable(number),), f"{number:.4g}")


def score_on_data(model: Any, feed: Any) -> Score:
    """Return how a compiled model does on data: right answers first, then the loss."""
    with explain_failure("The look at the validation data"):
        results = model.evaluate(feed, verbose=0, return_dict=True)
    loss = float(results["loss"])
    if "accuracy" not in results:
        return Score((_comparable(-loss),), f"loss {loss:.4g}")
    accuracy = float(results["accuracy"])
    return Score(
        (_comparable(accuracy), _comparable(-loss)), f"accuracy {accuracy:.4f} (loss {loss:.3g})"
    )


def _comparable(number: float) -> float:
    """Return a number that compares: what is not one is worse than everything."""
    return -math.inf if math.isnan(number) else number


# Words of the line that tells the reason, among those that only tell where it happened.
_TELLING = ("label", "shape", "Arguments", "rank")


@contextmanager
def explain_failure(what: str) -> Iterator[None]:
    """Turn an error inside into one that says what failed and what to look at.

    Raises:
        ModelError: in place of the errors that labels of a wrong form cause.
    """
    import tensorflow as tf

    try:
        yield
    except (TypeError, ValueError, tf.errors.OpError) as error:
        raise ModelError(
            f"{what} failed: {_failure_reason(error)}\n"
            "Do the labels fit the model's output and its loss, and hold no other classes? Are the "
            "data in batches?"
        ) from error


def _failure_reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("File ", "Detected at "))]
    telling = [line for line in lines if any(word in line for word in _TELLING)]
    return f"{type(error).__name__}: {(telling or lines or ['no reason given'])[0][:300]}"
