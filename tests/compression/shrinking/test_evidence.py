"""Who calibrates, trains, chooses and judges."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.labelled_data import LabelClasses, LabelledSamples
from quickfit.compression.shrinking.accuracy import AccuracyMarks, Predictor
from quickfit.compression.shrinking.evidence import (
    FEWEST,
    MOST_CALIBRATION,
    Lessons,
    UserData,
    build_evidence,
    check_guessing,
    labels_for,
    split_parts,
)
from quickfit.errors import UsageError

# Each sample is known by its first pixel.
X = np.repeat(np.arange(400, dtype="float32"), 192).reshape(400, 8, 8, 3)
Y = np.arange(400) % 4


def numbers(arrays):
    return set(arrays[0][:, 0, 0, 0].astype(int).tolist())


@pytest.fixture(scope="module")
def graph(tf):
    return graph_of(models.sequential())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_four_parts_share_no_sample(graph):
    found = build_evidence(graph, UserData(data=(X, Y)))
    assert isinstance(found.select, AccuracyMarks)
    assert isinstance(found.judge, AccuracyMarks)
    parts = [
        numbers(found.calibration.arrays),
        numbers(found.lessons.samples.arrays),
        numbers(found.select.samples.arrays),
        numbers(found.judge.samples.arrays),
    ]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 400
    assert numbers(found.lessons.selection.arrays) == parts[2]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_function_has_the_last_word_and_does_not_choose(graph):
    found = build_evidence(graph, UserData(data=(X, Y), evaluate=lambda model: 0.25))
    assert isinstance(found.select, AccuracyMarks)
    assert found.judge(graph.model) == 0.25


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_held_out_samples_have_the_last_word(graph):
    found = build_evidence(graph, UserData(data=(X, Y), held_out=(X[:7], Y[:7])))
    assert len(found.judge) == 7
    both = build_evidence(
        graph, UserData(data=(X, Y), held_out=lambda model: 0.1, evaluate=lambda model: 0.2)
    )
    assert (both.select(None), both.judge(None)) == (0.2, 0.1)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_without_labels_a_function_does_both_and_that_is_said(graph):
    found = build_evidence(graph, UserData(calibration=X, evaluate=lambda model: 0.5))
    assert found.lessons is None
    assert found.select(None) == found.judge(None) == 0.5
    assert "nothing was trained" in found.notes[0]
    assert "evaluate() both chose and judged" in found.notes[1]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_function_that_cannot_judge_files_is_no_mistake_of_the_model(graph):
    mark = build_evidence(
        graph, UserData(calibration=X, evaluate=lambda m: m.evaluate(X, Y))
    ).select
    with pytest.raises(UsageError, match=r"evaluate\(\) used \.evaluate of a \.tflite file"):
        mark(Predictor(None))
    odd = build_evidence(graph, UserData(calibration=X, evaluate=lambda m: m.grade())).select
    with pytest.raises(AttributeError, match="grade"):
        odd(graph.model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_labels_that_are_no_classes_need_a_function(graph):
    values = np.linspace(0, 1, 400)
    with pytest.raises(UsageError, match="no classes"):
        build_evidence(graph, UserData(data=(X, values)))
    found = build_evidence(graph, UserData(data=(X, values), evaluate=lambda model: 0.5))
    assert found.lessons.classes is None
    assert found.select(None) == 0.5
    assert "evaluate() both chose and judged" in found.notes[-1]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_labels_of_several_outputs_are_left_to_the_function():
    graph = graph_of(models.named())
    data = models.data_for(graph.model, 64)
    labels = {name: np.zeros((64, 1)) for name in graph.output_names}
    found = build_evidence(graph, UserData(data=(data, labels), evaluate=lambda model: 0.5))
    assert found.lessons is None
    assert len(found.calibration) == 64
    assert "The model has several outputs" in found.notes[0]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (UserData(), "give labelled samples, data="),
        (UserData(calibration=X), "Nobody can tell how good a smaller model is"),
        (UserData(evaluate=len), "give some samples, calibration=x"),
        (UserData(evaluate=0.5), "evaluate=0.5: it is a function"),
        (UserData(calibration=X, evaluate=lambda model: None), "evaluate.. returned None"),
    ],
)
def test_what_is_missing_is_said(graph, given, said):
    with pytest.raises(UsageError, match=said):
        build_evidence(graph, given).select(graph.model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_guesses_is_not_shrunk(graph):
    marks = build_evidence(graph, UserData(data=(X, Y))).select
    with pytest.raises(UsageError, match=r"right for 25.0% of the samples: that is guessing amo"):
        check_guessing(0.25, marks, for_training=False)
    assert "still to be trained" in check_guessing(0.25, marks, for_training=True)
    assert check_guessing(0.9, marks, for_training=False) == ""
    assert check_guessing(0.0, lambda model: 0.0, for_training=False) == ""


LABELS = np.arange(1000) % 10


def _all(parts):
    return [parts.calibration, parts.tuning, parts.selection, parts.held_out]


@pytest.mark.parametrize("count", [FEWEST, 41, 97, 1000, 5003])
def test_every_sample_is_in_just_one_part(count):
    places = np.concatenate(_all(split_parts(np.arange(count) % 7)))
    np.testing.assert_array_equal(np.sort(places), np.arange(count))


def test_the_same_seed_divides_in_the_same_way():
    first, again, other = (split_parts(LABELS, seed=seed) for seed in (3, 3, 4))
    for one, two in zip(_all(first), _all(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.held_out, other.held_out)


@pytest.mark.parametrize("labels", [np.sort(LABELS), LABELS, np.repeat(["a", "b"], [900, 100])])
def test_every_class_comes_to_every_part_in_its_share(labels):
    for part in _all(split_parts(labels)):
        for one in np.unique(labels):
            share, whole = np.mean(labels[part] == one), np.mean(labels == one)
            assert abs(share - whole) < 0.03


def test_calibration_is_bounded():
    assert len(split_parts(np.zeros(100_000, int)).calibration) == MOST_CALIBRATION


def test_without_need_nothing_is_held_out():
    parts = split_parts(LABELS, needs_held_out=False)
    assert not len(parts.held_out)
    assert not parts.notes
    assert sum(map(len, _all(parts))) == 1000


def test_few_samples_are_said():
    (note,) = split_parts(np.arange(100) % 2).notes
    assert "Only 25 samples are left to judge by, so one of them is 4.0 points" in note
    assert not split_parts(LABELS).notes


def test_labels_that_are_no_classes_are_divided_too():
    parts = split_parts(np.random.default_rng(0).normal(size=(200, 3)))
    assert sum(map(len, _all(parts))) == 200


def test_too_few_samples_end_it():
    with pytest.raises(UsageError, match=r"39 labelled samples are too few.*Give 40 at least"):
        split_parts(np.zeros(FEWEST - 1, int))


CODES = np.array([0, 1, 2, 3] * 8)
FOUR = LabelClasses(CODES, 4)


def lessons_for(model, classes=FOUR):
    data = models.data_for(model, len(CODES))
    samples = LabelledSamples((data,), classes.codes)
    return Lessons(graph_of(model), samples, samples, (classes, classes))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("loss", [None, "sparse_categorical_crossentropy"])
def test_numbers_of_classes_stay_numbers(loss):
    np.testing.assert_array_equal(labels_for(loss, FOUR, None), CODES)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("loss", ["categorical_crossentropy", "mse", "binary_crossentropy"])
def test_other_losses_get_vectors(loss):
    np.testing.assert_array_equal(labels_for(loss, FOUR, None), np.eye(4)[CODES])


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_single_output_gets_a_column():
    found = labels_for("binary_crossentropy", LabelClasses(np.array([0, 1]), 2, True), None)
    assert found.tolist() == [[0.0], [1.0]]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_loss_of_the_users_gets_what_the_user_gave():
    def own(wanted, found):
        return found

    assert labels_for(own, FOUR, "as they came") == "as they came"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(("ends_in", "has_logits"), [("softmax", False), (None, True)])
def test_the_loss_of_a_model_that_is_not_compiled_is_seen_in_its_outputs(ends_in, has_logits):
    import keras

    model = models.settled(
        keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation=ends_in)])
    )
    student = models.settled(
        keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation=ends_in)])
    )
    lessons_for(model).set_up(student)
    assert isinstance(student.loss, keras.losses.SparseCategoricalCrossentropy)
    assert student.loss.get_config()["from_logits"] is has_logits
    assert not model.compiled


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_student_is_compiled_like_the_original():
    import keras

    model = models.sequential()
    model.compile(keras.optimizers.SGD(0.5), "categorical_crossentropy")
    student = models.sequential()
    lessons = lessons_for(model)
    lessons.set_up(student)
    assert student.loss == "categorical_crossentropy"
    assert student.optimizer is not model.optimizer
    assert lessons.data(lessons.samples, 0)[1].shape == (32, 4)
