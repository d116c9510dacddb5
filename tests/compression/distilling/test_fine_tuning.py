"""A student after a short training."""

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from compression import models
from compression.distilling.pupils import ending, question
from compression.quantizing.nets import state_of
from quickfit.compression.distilling import fine_tuned
from quickfit.compression.distilling.fine_tuning import (
    Checkpoint,
    EpochTraining,
    Score,
    _training_notes,
    better_checkpoint,
    explain_failure,
    score_by_function,
)
from quickfit.compression.labelled_data import TrainingData
from quickfit.errors import ModelError, UsageError

DATA, VALIDATION = question(128, 1), question(64, 2)
START_LABELS_TEACHER = [("before", 0.5), ("labels", 0.9), ("teacher", 0.9)]
FAST = {"validation": VALIDATION, "learning_rate": 0.02}


def accuracy(model, data=VALIDATION):
    return float((np.argmax(np.asarray(model(data[0])), -1) == data[1]).mean())


def same(one, other):
    pairs = zip(one.get_weights(), other.get_weights(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def rising():
    """Return a judge for whom the last model is the best, and what it was shown."""
    shown = []

    def judge(model):
        shown.append(accuracy(model))
        return float(len(shown))

    return judge, shown


@pytest.fixture(scope="module")
def lesson(tf):
    """Return a student, its state before it was trained, and what came out."""
    student = ending("dense", norm=True)
    student.compile("sgd", "sparse_categorical_crossentropy")
    before = state_of(student)
    return student, before, fine_tuned(student, DATA, epochs=3, seed=4, **FAST)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_student_learns_and_the_one_that_was_given_stays_as_it_is(lesson):
    student, before, made = lesson
    assert accuracy(made.model) > accuracy(student) + 0.2
    assert made.notes[0].startswith("Kept: labels, epoch")
    assert state_of(student) == before


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_comes_out_is_built_like_the_student(lesson):
    student, _, made = lesson
    assert [layer.name for layer in made.model.layers] == [layer.name for layer in student.layers]
    assert made.model.get_layer("head").activation.__name__ == "softmax"
    assert made.model.compiled


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_same_seed_gives_the_same_student_and_another_one_another(lesson):
    student, _, made = lesson
    again, other = (fine_tuned(student, DATA, epochs=3, seed=seed, **FAST).model for seed in (4, 5))
    assert same(made.model, again)
    assert not same(made.model, other)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_training_that_harms_is_undone():
    student, scores = ending("dense"), iter([0.9, 0.8, 0.9])
    made = fine_tuned(student, DATA, epochs=2, validation=lambda model: next(scores))
    assert same(made.model, student)
    assert made.notes == (
        "Training did not make it better (0.9 at best, 0.9 before): the model is as it was.",
    )
    assert not made.model.compiled


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_larger_learning_rate_is_tried_as_long_as_it_measures_better():
    student, scores = ending("dense"), iter([0.5, 0.6, 0.7, 0.65])
    made = fine_tuned(student, DATA, validation=lambda model: next(scores))
    assert made.notes[0] == (
        "Kept: labels at a learning rate of 0.001, epoch 1: 0.7, and 0.5 before training."
    )
    assert next(scores, None) is None
    alone = fine_tuned(student, DATA, validation=rising()[0], learning_rate=1e-3)
    assert same(made.model, alone.model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_teacher_is_heard_and_neither_changed_nor_frozen():
    student, teacher = ending("dense"), models.settled(ending("layer", name="teacher"), 9)
    teacher.compile("sgd", "sparse_categorical_crossentropy")
    before, (judge, shown) = (state_of(teacher), state_of(student)), rising()
    made = fine_tuned(student, DATA, teacher=teacher, learning_rate=0.02, validation=judge)
    assert (state_of(teacher), state_of(student)) == before
    assert made.notes == (
        "Kept: labels and teacher, epoch 1: 3, and 1 before training.",
        "The teacher is better than labels alone: 3 against 2.",
    )
    assert accuracy(made.model) == shown[-1] > shown[0]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_teacher_that_is_no_better_than_labels_is_told_as_that():
    moments = [Checkpoint(what, Score((n,), str(n)), []) for what, n in START_LABELS_TEACHER]
    assert functools.reduce(better_checkpoint, moments) is moments[1]
    assert _training_notes(moments, moments[1]) == [
        "Kept: labels: 0.9, and 0.5 before training.",
        "The teacher is no better than labels alone: 0.9 against 0.9.",
    ]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_interrupted_training_leaves_both_models_as_they_were():
    student, teacher = ending("dense"), ending("dense", name="teacher")
    before, shown = (state_of(student), state_of(teacher)), []

    def interrupted(model):
        shown.append(model)
        if len(shown) == 2:
            raise KeyboardInterrupt
        return 0.5

    with pytest.raises(KeyboardInterrupt):
        fine_tuned(student, DATA, teacher=teacher, validation=interrupted)
    assert (state_of(student), state_of(teacher)) == before


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_dataset_and_a_list_of_batches_will_do(tf):
    dataset = tf.data.Dataset.from_tensor_slices(DATA).batch(16)
    student = ending("dense")
    made = fine_tuned(student, dataset, epochs=3, learning_rate=0.02, validation=[VALIDATION])
    assert accuracy(made.model) > accuracy(student)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_values_are_judged_by_their_loss():
    student = ending("logits")
    student.compile(loss="mse")
    (x, y), (other_x, other_y) = DATA, VALIDATION
    kept_apart = (other_x, np.eye(3)[other_y])
    made = fine_tuned(student, (x, np.eye(3)[y]), validation=kept_apart, learning_rate=3e-4)
    assert made.notes[0].startswith("Kept: labels, epoch 1: loss ")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs=0: it takes a whole number from 1"),
        ({"epochs": True}, "epochs=True"),
        ({"seed": -1}, "seed=-1: it takes a whole number from 0"),
        ({"learning_rate": 0}, "learning_rate=0: it takes a number above 0"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"validation": DATA}, "validation holds the very data that are trained on"),
        ({"validation": VALIDATION[0]}, "validation has no labels"),
        ({"teacher": "teacher.keras"}, "teacher.keras"),
    ],
)
def test_is_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        fine_tuned(ending("dense"), DATA, **{"validation": VALIDATION, **changes})


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_labels_that_the_model_does_not_know_are_told():
    x, y = DATA
    with pytest.raises(ModelError, match=r"The training failed: .*label value of 7"):
        fine_tuned(ending("dense"), (x, y + 5), validation=VALIDATION)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_labels_for_validation_of_another_form_are_told():
    student = ending("dense")
    student.compile(loss="categorical_crossentropy")
    x, y = DATA
    with pytest.raises(ModelError, match=r"The look at the validation data failed: .*shape"):
        fine_tuned(student, (x, np.eye(3)[y]), validation=VALIDATION)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_frozen_model_is_told():
    student = ending("dense")
    student.trainable = False
    with pytest.raises(ModelError, match="'pupil' has no weights to train"):
        fine_tuned(student, DATA, validation=VALIDATION)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_in_half_precision_learns():
    import keras

    keras.config.set_dtype_policy("mixed_float16")
    try:
        student = ending("dense")
    finally:
        keras.config.set_dtype_policy("float32")
    judge, shown = rising()
    made = fine_tuned(student, DATA, teacher=student, learning_rate=0.02, validation=judge)
    assert "labels and teacher" in made.notes[0]
    assert shown[2] > shown[0]
    assert made.model.get_layer("head").dtype_policy.name == "mixed_float16"


class Number:
    """A model that is one number; training makes it the next of a list."""

    def __init__(self, *values, loss=1.0):
        self.value, self._values, self._loss = 0.0, list(values), loss
        self.variables = [self]

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value)

    def assign(self, value):
        self.value = float(value)

    def fit(self, feed, **_):
        self.value = self._values.pop(0)
        return SimpleNamespace(history={"loss": [self._loss]})


def training(model, recalibrate=None):
    return EpochTraining(model, lambda: Score((model.value,), f"{model.value}"), recalibrate)


def begun():
    epochs = []
    return TrainingData(None, (), epochs.append), epochs


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_best_epoch_is_kept_and_each_begins_in_its_order():
    model, (data, epochs) = Number(1.0, 3.0, 2.0), begun()
    best = training(model).trained(model, data, 3, "labels")
    assert (best.what, float(best.state[0])) == ("labels, epoch 2", 3.0)
    assert epochs == [1, 2, 3]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_of_equals_the_first_is_kept():
    model = Number(2.0, 2.0)
    assert training(model).trained(model, begun()[0], 2, "labels").what == "labels, epoch 1"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_every_training_begins_at_the_start():
    model = Number(5.0, -1.0)
    whole = training(model)
    whole.trained(model, begun()[0], 1, "labels")
    seen = []
    trainer = SimpleNamespace(fit=lambda *a, **k: seen.append(model.value) or model.fit(None))
    whole.trained(trainer, begun()[0], 1, "teacher")
    assert seen == [0.0]
    assert whole.start.what == "before training"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_new_statistics_are_tried_after_each_epoch_and_do_not_stay_in_the_training():
    model = Number(1.0, 2.0)
    before = []

    def recalibrate():
        before.append(model.value)
        model.value += 10 if len(before) == 1 else -10

    best = training(model, recalibrate).trained(model, begun()[0], 2, "labels")
    assert best.what == "labels, epoch 1, statistics of batch normalization measured anew"
    assert before == [1.0, 2.0]
    assert model.value == 2.0


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_loss_that_is_not_finite_ends_it_and_is_told():
    model = Number(math.nan, 7.0, loss=math.nan)
    whole = training(model, lambda: pytest.fail("statistics of nothing"))
    whole.trained(model, begun()[0], 2, "labels")
    assert whole.notes == [
        "Training on labels was ended: the loss was nan. Try a smaller learning_rate."
    ]


def test_more_right_answers_beat_a_lower_loss():
    assert Score((0.9, -5.0), "").beats(Score((0.8, -0.1), ""))


def test_with_as_many_right_answers_the_loss_decides_and_a_draw_beats_nothing():
    assert Score((0.9, -1.0), "").beats(Score((0.9, -2.0), ""))
    assert not Score((0.9, -1.0), "").beats(Score((0.9, -1.0), ""))


def test_a_function_is_asked_and_nan_is_worse_than_everything():
    assert score_by_function(lambda model: model / 2, 1.5) == Score((0.75,), "0.75")
    nothing = score_by_function(lambda model: math.nan, None)
    assert Score((-1e9,), "").beats(nothing)
    assert not nothing.beats(nothing)


def test_a_function_that_returns_no_number_is_told():
    with pytest.raises(UsageError, match=r"validation\(\) returned \{'a': 1\}, and a number"):
        score_by_function(lambda model: {"a": 1}, None)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_line_with_the_reason_is_told():
    text = 'Graph execution error:\n\nFile "labels.py"\nReceived a label value of 9 …\nmore'
    message = "The training failed: ValueError: Received a label value of 9"
    with pytest.raises(ModelError, match=message), explain_failure("The training"):
        raise ValueError(text)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_error_without_text_is_told_by_its_name():
    with pytest.raises(ModelError, match="TypeError: no reason given"), explain_failure("It"):
        raise TypeError


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_other_errors_stay_what_they_are():
    with pytest.raises(KeyError), explain_failure("It"):
        raise KeyError("of the user's data")
