"""What candidates are made with and measured by: four kinds of samples that share none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.graph import Graph
from quickfit.compression.shrinking.accuracy import (
    Marks,
    Predictor,
    checked_mark,
    predictions,
    threshold_of,
)
from quickfit.compression.shrinking.learning import Lessons
from quickfit.compression.shrinking.splitting import Parts, parts_of
from quickfit.compression.sources.classes import Classes, classes_of
from quickfit.compression.sources.labelled import Labelled, labelled_of
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
class Given:
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


def evidence_of(graph: Graph, given: Given) -> Evidence:
    """Divide what the user gave.

    Raises:
        UsageError: it is not enough, or does not fit the model.
    """
    _check(given)
    if given.data is None:
        return _without_labels(graph, given)
    if given.evaluate is not None and len(graph.outputs) > 1:
        calibration = given.data if given.calibration is None else given.calibration
        return _without_labels(graph, replace(given, calibration=calibration))
    labelled = labelled_of(graph, given.data, seed=given.seed)
    classes = _classes(graph, labelled, given.evaluate)
    needs_held_out = given.held_out is None and given.evaluate is None
    codes = labelled.labels if classes is None else classes.codes
    parts = parts_of(codes, seed=given.seed, needs_held_out=needs_held_out)
    marks = None if classes is None else _Marking(graph, labelled, classes)
    select, judge = _judges(graph, given, parts, marks)
    notes = (_BOTH,) if select is judge else ()
    return Evidence(
        _calibration(graph, given, labelled.at(parts.calibration)),
        _lessons(graph, given, labelled, classes, parts),
        select,
        judge,
        (*labelled.notes, *parts.notes, *notes),
    )


def check_guessing(accuracy: float, mark: Mark, *, for_training: bool) -> str:
    """Return a note where the original only guesses; empty where it does not.

    Raises:
        UsageError: it guesses, and its answers are what is wanted.
    """
    if not isinstance(mark, Marks):
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


class _Marking:
    """Makes marks from parts of labelled samples."""

    def __init__(self, graph: Graph, labelled: Labelled, classes: Classes) -> None:
        self._labelled, self._classes = labelled, classes
        self.threshold = 0.5
        if classes.is_single:
            few = labelled.at(np.arange(min(len(labelled), 256)))
            self.threshold = threshold_of(predictions(graph.model, few.arrays))

    def of(self, places: Any) -> Marks:
        return Marks(self._labelled.at(places), self._classes.at(places), self.threshold)


def _check(given: Given) -> None:
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


def _without_labels(graph: Graph, given: Given) -> Evidence:
    evaluate = _asked(given.evaluate)
    judge = evaluate if given.held_out is None else _held_out(graph, given, None)
    notes = [_UNTRAINED if given.data is None else _MANY_OUTPUTS]
    if given.held_out is None:
        notes.append(_BOTH)
    calibration = samples_of(graph, given.calibration, seed=given.seed)
    return Evidence(calibration, None, evaluate, judge, tuple(notes))


def _asked(evaluate: Mark | None) -> Mark:
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


def _classes(graph: Graph, labelled: Labelled, evaluate: Mark | None) -> Classes | None:
    """Return the labels as classes; None where they are none, and somebody else judges."""
    try:
        return classes_of(graph, labelled.labels, names=labelled.class_names)
    except UsageError:
        if evaluate is None:
            raise
        return None


def _judges(graph: Graph, given: Given, parts: Parts, marks: _Marking | None) -> tuple[Mark, Mark]:
    """Return who chooses and who has the last word."""
    if given.held_out is not None:
        judge = _held_out(graph, given, marks)
        if given.evaluate is not None:
            return _asked(given.evaluate), judge
        assert marks is not None  # labels that are no classes need evaluate
        return marks.of(parts.selection), judge
    if given.evaluate is not None:
        judge = _asked(given.evaluate)
        return (judge if marks is None else marks.of(parts.selection)), judge
    assert marks is not None  # as above
    return marks.of(parts.selection), marks.of(parts.held_out)


def _held_out(graph: Graph, given: Given, marks: _Marking | None) -> Mark:
    if callable(given.held_out):
        return _asked(given.held_out)
    labelled = labelled_of(graph, given.held_out, where="held_out")
    classes = classes_of(graph, labelled.labels, where="held_out")
    marking = _Marking(graph, labelled, classes) if marks is None else marks
    return Marks(labelled, classes, marking.threshold)


def _calibration(graph: Graph, given: Given, part: Labelled) -> Samples:
    if given.calibration is not None:
        return samples_of(graph, given.calibration, seed=given.seed)
    return Samples(part.arrays)


def _lessons(
    graph: Graph, given: Given, labelled: Labelled, classes: Classes | None, parts: Parts
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
