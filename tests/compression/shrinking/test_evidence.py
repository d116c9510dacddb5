"""Who calibrates, trains, chooses and judges."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.shrinking.accuracy import Marks, Predictor
from quickfit.compression.shrinking.evidence import Given, check_guessing, evidence_of
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

# Each sample is known by its first pixel.
X = np.repeat(np.arange(400, dtype="float32"), 192).reshape(400, 8, 8, 3)
Y = np.arange(400) % 4


def numbers(arrays):
    return set(arrays[0][:, 0, 0, 0].astype(int).tolist())


@pytest.fixture(scope="module")
def graph(tf):
    return graph_of(models.sequential())


def test_the_four_parts_share_no_sample(graph):
    found = evidence_of(graph, Given(data=(X, Y)))
    assert isinstance(found.select, Marks)
    assert isinstance(found.judge, Marks)
    parts = [
        numbers(found.calibration.arrays),
        numbers(found.lessons.samples.arrays),
        numbers(found.select.samples.arrays),
        numbers(found.judge.samples.arrays),
    ]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 400
    assert numbers(found.lessons.selection.arrays) == parts[2]


def test_a_function_has_the_last_word_and_does_not_choose(graph):
    found = evidence_of(graph, Given(data=(X, Y), evaluate=lambda model: 0.25))
    assert isinstance(found.select, Marks)
    assert found.judge(graph.model) == 0.25


def test_held_out_samples_have_the_last_word(graph):
    found = evidence_of(graph, Given(data=(X, Y), held_out=(X[:7], Y[:7])))
    assert len(found.judge) == 7
    both = evidence_of(
        graph, Given(data=(X, Y), held_out=lambda model: 0.1, evaluate=lambda model: 0.2)
    )
    assert (both.select(None), both.judge(None)) == (0.2, 0.1)


def test_without_labels_a_function_does_both_and_that_is_said(graph):
    found = evidence_of(graph, Given(calibration=X, evaluate=lambda model: 0.5))
    assert found.lessons is None
    assert found.select(None) == found.judge(None) == 0.5
    assert "nothing was trained" in found.notes[0]
    assert "evaluate() both chose and judged" in found.notes[1]


def test_a_function_that_cannot_judge_files_is_no_mistake_of_the_model(graph):
    mark = evidence_of(graph, Given(calibration=X, evaluate=lambda m: m.evaluate(X, Y))).select
    with pytest.raises(UsageError, match=r"evaluate\(\) used \.evaluate of a \.tflite file"):
        mark(Predictor(None))
    odd = evidence_of(graph, Given(calibration=X, evaluate=lambda m: m.grade())).select
    with pytest.raises(AttributeError, match="grade"):
        odd(graph.model)


def test_labels_that_are_no_classes_need_a_function(graph):
    values = np.linspace(0, 1, 400)
    with pytest.raises(UsageError, match="no classes"):
        evidence_of(graph, Given(data=(X, values)))
    found = evidence_of(graph, Given(data=(X, values), evaluate=lambda model: 0.5))
    assert found.lessons.classes is None
    assert found.select(None) == 0.5
    assert "evaluate() both chose and judged" in found.notes[-1]


def test_labels_of_several_outputs_are_left_to_the_function():
    graph = graph_of(models.named())
    data = models.data_for(graph.model, 64)
    labels = {name: np.zeros((64, 1)) for name in graph.output_names}
    found = evidence_of(graph, Given(data=(data, labels), evaluate=lambda model: 0.5))
    assert found.lessons is None
    assert len(found.calibration) == 64
    assert "The model has several outputs" in found.notes[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Given(), "give labelled samples, data="),
        (Given(calibration=X), "Nobody can tell how good a smaller model is"),
        (Given(evaluate=len), "give some samples, calibration=x"),
        (Given(evaluate=0.5), "evaluate=0.5: it is a function"),
        (Given(calibration=X, evaluate=lambda model: None), "evaluate.. returned None"),
    ],
)
def test_what_is_missing_is_said(graph, given, said):
    with pytest.raises(UsageError, match=said):
        evidence_of(graph, given).select(graph.model)


def test_a_model_that_guesses_is_not_shrunk(graph):
    marks = evidence_of(graph, Given(data=(X, Y))).select
    with pytest.raises(UsageError, match=r"right for 25.0% of the samples: that is guessing amo"):
        check_guessing(0.25, marks, for_training=False)
    assert "still to be trained" in check_guessing(0.25, marks, for_training=True)
    assert check_guessing(0.9, marks, for_training=False) == ""
    assert check_guessing(0.0, lambda model: 0.0, for_training=False) == ""
