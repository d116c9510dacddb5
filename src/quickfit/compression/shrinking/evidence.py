"""The samples that candidates are made with and measured by: four parts that share none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.copying import TransformedModel, compile_like
from quickfit.compression.distilling.heads import loss_name
from quickfit.compression.graph import Graph
from quickfit.compression.keras_internals import compile_arguments
from quickfit.compression.labelled_data import (
    LabelClasses,
    LabelledSamples,
    label_classes,
    read_labelled,
)
from quickfit.compression.shrinking.accuracy import (
    AccuracyMarks,
    Predictor,
    checked_mark,
    predict_outputs,
    threshold_of,
)
from quickfit.errors import UsageError

# Models and data are `Any`: Keras has no types of its own, and data come in many forms.

# Says how good a model is: more is better, 1 is perfect.
Mark = Callable[[Any], float]

_UNTRAINED = "Without labelled samples (data=) nothing was trained after it was made smaller."
_MANY_OUTPUTS = (
    "The model has several outputs, so nothing was trained after it was made smaller; train what"
    " was chosen on (quickfit.compression.fine_tuned)."
)
_BOTH = (
    "evaluate() both chose and judged: what it says of the chosen one is a little too good. Give"
    " held_out= for an answer on samples that it has not seen."
)


@dataclass(frozen=True)
class UserData:
    """What the user gave, see `shrink`."""

    calibration: Any = None
    evaluate: Mark | None = None
    data: Any = None
    held_out: Any = None
    distill: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Evidence:
    """What is needed to make and to measure.

    Args:
        calibration: shows what the model sees.
        lessons: train what was made; None without labels.
        select: chooses among candidates.
        judge: has the last word, on samples that nothing else has seen.
        notes: what a person should know about it.
    """

    calibration: Samples
    lessons: Lessons | None
    select: Mark
    judge: Mark
    notes: tuple[str, ...] = ()


def build_evidence(graph: Graph, given: UserData) -> Evidence:
    """Divide what the user gave.

    Raises:
        UsageError: it is not enough, or does not fit the model.
    """
    _check_user_data(given)
    if given.data is None:
        return _without_labels(graph, given)
    if given.evaluate is not None and len(graph.outputs) > 1:
        calibration = given.data if given.calibration is None else given.calibration
        return _without_labels(graph, replace(given, calibration=calibration))
    labelled = read_labelled(graph, given.data, seed=given.seed)
    classes = _label_classes(graph, labelled, given.evaluate)
    needs_held_out = given.held_out is None and given.evaluate is None
    codes = labelled.labels if classes is None else classes.codes
    parts = split_parts(codes, seed=given.seed, needs_held_out=needs_held_out)
    marks = None if classes is None else _MarkMaker(graph, labelled, classes)
    select, judge = _judge_marks(graph, given, parts, marks)
    notes = (_BOTH,) if select is judge else ()
    return Evidence(
        _calibration_samples(graph, given, labelled.at(parts.calibration)),
        _training_lessons(graph, given, labelled, classes, parts),
        select,
        judge,
        (*labelled.notes, *parts.notes, *notes),
    )


def check_guessing(accuracy: float, mark: Mark, *, for_training: bool) -> str:
    """Return a note where the original only guesses; empty where it does not.

    Raises:
        UsageError: it guesses, and its answers are what is wanted.
    """
    if not isinstance(mark, AccuracyMarks):
        return ""
    count = mark.classes.count
    if accuracy > (0.5 if count == 2 else 1.5 / count):
        return ""
    told = (
        f"The original is right for {accuracy:.1%} of the samples: that is guessing among {count}"
        " classes."
    )
    if for_training:
        return f"{told} It is taken for one that is still to be trained: no loss is counted."
    raise UsageError(
        f"{told}\nAre the samples prepared as in its training (scale of the pixels, order of the"
        " classes, labels from 0)? Is it trained at all? Before a training: --for training"
        " (for_training=True)."
    )


class _MarkMaker:
    """Makes marks from parts of labelled samples."""

    def __init__(self, graph: Graph, labelled: LabelledSamples, classes: LabelClasses) -> None:
        self._labelled, self._classes = labelled, classes
        self.threshold = 0.5
        if classes.is_single:
            few = labelled.at(np.arange(min(len(labelled), 256)))
            self.threshold = threshold_of(predict_outputs(graph.model, few.arrays))

    def of(self, places: Any) -> AccuracyMarks:
        return AccuracyMarks(self._labelled.at(places), self._classes.at(places), self.threshold)


def _check_user_data(given: UserData) -> None:
    if given.evaluate is not None and not callable(given.evaluate):
        raise UsageError(
            f"evaluate={given.evaluate!r}: it is a function that takes a model and returns how good"
            " it is, such as the share of right answers. Labelled samples go into data=."
        )
    if given.data is None and given.evaluate is None:
        raise UsageError(
            "Nobody can tell how good a smaller model is: give labelled samples, data=(x, y), or"
            " evaluate=, a function that takes a model and returns its accuracy."
        )
    if given.data is None and given.calibration is None:
        raise UsageError(
            "There is nothing to show the transformations what the model sees: give some samples,"
            " calibration=x, or labelled ones, data=(x, y)."
        )


def _without_labels(graph: Graph, given: UserData) -> Evidence:
    evaluate = _mark_by_user_function(given.evaluate)
    judge = evaluate if given.held_out is None else _held_out(graph, given, None)
    notes = [_UNTRAINED if given.data is None else _MANY_OUTPUTS]
    if given.held_out is None:
        notes.append(_BOTH)
    calibration = samples_of(graph, given.calibration, seed=given.seed)
    return Evidence(calibration, None, evaluate, judge, tuple(notes))


def _mark_by_user_function(evaluate: Mark | None) -> Mark:
    assert evaluate is not None  # checked

    def ask(model: Any) -> float:
        try:
            mark = evaluate(model)
        except AttributeError as error:
            if not isinstance(model, Predictor):
                raise
            raise UsageError(str(error)) from error  # the Keras candidates can be judged
        return checked_mark(mark, getattr(model, "name", "a .tflite file"))

    return ask


def _label_classes(
    graph: Graph, labelled: LabelledSamples, evaluate: Mark | None
) -> LabelClasses | None:
    """Return the labels as classes; None where they are none, and somebody else judges."""
    try:
        return label_classes(graph, labelled.labels, names=labelled.class_names)
    except UsageError:
        if evaluate is None:
            raise
        return None


def _judge_marks(
    graph: Graph, given: UserData, parts: DataParts, marks: _MarkMaker | None
) -> tuple[Mark, Mark]:
    """Return who chooses and who has the last word."""
    if given.held_out is not None:
        judge = _held_out(graph, given, marks)
        if given.evaluate is not None:
            return _mark_by_user_function(given.evaluate), judge
        assert marks is not None  # labels that are no classes need evaluate
        return marks.of(parts.selection), judge
    if given.evaluate is not None:
        judge = _mark_by_user_function(given.evaluate)
        return (judge if marks is None else marks.of(parts.selection)), judge
    assert marks is not None  # as above
    return marks.of(parts.selection), marks.of(parts.held_out)


def _held_out(graph: Graph, given: UserData, marks: _MarkMaker | None) -> Mark:
    if callable(given.held_out):
        return _mark_by_user_function(given.held_out)
    labelled = read_labelled(graph, given.held_out, where="held_out")
    classes = label_classes(graph, labelled.labels, where="held_out")
    marking = _MarkMaker(graph, labelled, classes) if marks is None else marks
    return AccuracyMarks(labelled, classes, marking.threshold)


def _calibration_samples(graph: Graph, given: UserData, part: LabelledSamples) -> Samples:
    if given.calibration is not None:
        return samples_of(graph, given.calibration, seed=given.seed)
    return Samples(part.arrays)


def _training_lessons(
    graph: Graph,
    given: UserData,
    labelled: LabelledSamples,
    classes: LabelClasses | None,
    parts: DataParts,
) -> Lessons:
    both = None if classes is None else (classes.at(parts.tuning), classes.at(parts.selection))
    return Lessons(
        graph,
        labelled.at(parts.tuning),
        labelled.at(parts.selection),
        both,
        distill=given.distill,
        seed=given.seed,
    )


# Arrays are `Any`: indices and labels of any type.

# More calibration samples change accuracies by less than their spread over seeds.
MOST_CALIBRATION = 256
_CALIBRATION_SHARE, _SELECTION_SHARE, _HELD_OUT_SHARE = 0.2, 0.2, 0.25
# Fewer cannot be divided into four parts that say anything.
FEWEST = 40
# From so many on, one sample is at most half a point.
_ENOUGH = 200


@dataclass(frozen=True)
class DataParts:
    """The places of the samples of each part, sorted.

    Args:
        calibration: shows transformations what the model sees.
        tuning: trains what was made.
        selection: chooses among checkpoints and candidates.
        held_out: judges what was chosen; nothing else has seen it.
        notes: what a person should know about them.
    """

    calibration: Any
    tuning: Any
    selection: Any
    held_out: Any
    notes: tuple[str, ...] = ()


def split_parts(labels: Any, *, seed: int = 0, needs_held_out: bool = True) -> DataParts:
    """Divide samples; every class comes to every part in its share, as far as it has enough.

    Args:
        labels: one per sample; a number or anything else with a first axis.
        seed: the same one divides the same number of samples in the same way.
        needs_held_out: whether a part is needed to judge by; otherwise it stays empty.

    Raises:
        UsageError: there are too few samples.
    """
    count = len(labels)
    if count < FEWEST:
        raise UsageError(
            f"{count} labelled samples are too few: they are divided into four parts (to calibrate,"
            f" to train, to choose, to judge). Give {FEWEST} at least, better a thousand."
        )
    order = _mix_classes(labels, seed)
    sizes = _part_sizes(count, needs_held_out=needs_held_out)
    places = _deal_parts(order, sizes)
    calibration, tuning, selection, held_out = places
    return DataParts(calibration, tuning, selection, held_out, _split_notes(len(held_out)))


def _part_sizes(count: int, *, needs_held_out: bool) -> tuple[int, int, int, int]:
    held_out = round(count * _HELD_OUT_SHARE) if needs_held_out else 0
    selection = round(count * _SELECTION_SHARE)
    calibration = min(MOST_CALIBRATION, round(count * _CALIBRATION_SHARE))
    return calibration, count - calibration - selection - held_out, selection, held_out


def _mix_classes(labels: Any, seed: int) -> Any:
    """Return the places so that any stretch of them has every class in about its share."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(labels))
    classes = np.asarray(labels)
    if classes.ndim != 1 or classes.dtype.kind not in "biuUS":
        return order
    ranks = np.empty(len(order))
    for one in np.unique(classes):
        mine = order[classes[order] == one]
        # Each class is spread evenly over the whole; chance decides where it begins.
        ranks[mine] = (np.arange(len(mine)) + draw.random()) / len(mine)
    return np.argsort(ranks, kind="stable")


def _deal_parts(order: Any, sizes: tuple[int, ...]) -> list[Any]:
    """Cut the order into parts. It is spread evenly, so that each cut has every class."""
    ends = np.cumsum(sizes)
    return [
        np.sort(order[end - size : end]) for size, end in zip(sizes, ends.tolist(), strict=True)
    ]


def _split_notes(held_out: int) -> tuple[str, ...]:
    if not held_out or held_out >= _ENOUGH:
        return ()
    return (
        f"Only {held_out} samples are left to judge by, so one of them is {100 / held_out:.1f}"
        " points: accuracies are that coarse. Give more data for a finer answer.",
    )


# Models, losses and arrays are `Any`: Keras has no types of its own.

EPOCHS = 3


@dataclass(frozen=True)
class Lessons:
    """What students learn from.

    Args:
        graph: of the original.
        samples: to train on.
        selection: tells which epoch was best; not trained on.
        classes: the labels of both, where they are classes.
        distill: whether the original is also tried as a teacher.
        seed: of the order of samples.
    """

    graph: Graph
    samples: LabelledSamples
    selection: LabelledSamples
    classes: tuple[LabelClasses, LabelClasses] | None
    distill: bool = False
    seed: int = 0

    def taught(self, student: Any) -> TransformedModel:
        """Return a student after a short training; the best of its epochs, also the 0th."""
        from quickfit.compression.distilling import fine_tuned

        self.set_up(student)
        training, validation = self.data(self.samples, 0), self.data(self.selection, 1)
        teacher = self.graph.model if self.distill else None
        made: TransformedModel = fine_tuned(
            student,
            training,
            teacher=teacher,
            epochs=EPOCHS,
            validation=validation,
            seed=self.seed,
        )
        return made

    def data(self, samples: LabelledSamples, part: int) -> tuple[Any, Any]:
        """Return samples and labels as `fit` takes them."""
        labels = samples.labels
        if self.classes is not None:
            labels = labels_for(_compiled_loss(self.graph.model), self.classes[part], labels)
        return samples.given_to(self.graph), labels

    def set_up(self, student: Any) -> None:
        """Compile a student like the original; where that is not compiled, for its classes."""
        compile_like(self.graph.model, student)
        if student.compiled or self.classes is None:
            return
        student.compile(loss=_loss_for(self.classes[0], self._outputs()))

    def _outputs(self) -> Any:
        from quickfit.compression.shrinking.accuracy import predict_outputs

        few = tuple(array[:64] for array in self.samples.arrays)
        return predict_outputs(self.graph.model, few)


def labels_for(loss: Any, classes: LabelClasses, labels: Any) -> Any:
    """Return the labels in the form that a loss takes.

    Args:
        loss: as the model was compiled with; None where it was not.
        classes: the labels as classes.
        labels: as they came, for a loss of the user's own.
    """
    name = loss_name(loss)
    if loss is None or name.startswith("sparse"):
        return classes.codes
    if classes.is_single:
        return classes.codes.astype(np.float32)[..., None]
    if "crossentropy" in name or name in ("kldivergence", "categoricalhinge", "meansquarederror"):
        return np.eye(classes.count, dtype=np.float32)[classes.codes]
    return labels


def _compiled_loss(model: Any) -> Any:
    return compile_arguments(model).get("loss") if model.compiled else None


def _loss_for(classes: LabelClasses, outputs: Any) -> Any:
    """Return the loss of a model that nobody has compiled, from what it gives."""
    import keras

    has_logits = not _are_probabilities(outputs, is_single=classes.is_single)
    make: Callable[..., Any] = keras.losses.SparseCategoricalCrossentropy
    if classes.is_single:
        make = keras.losses.BinaryCrossentropy
    return make(from_logits=has_logits)


def _are_probabilities(outputs: Any, *, is_single: bool) -> bool:
    if not bool(np.all((outputs >= 0) & (outputs <= 1))):
        return False
    return is_single or bool(np.all(np.abs(outputs.sum(axis=-1) - 1) < 1e-2))
