"""A student after a short training."""

import functools

import numpy as np
import pytest

from compression import models
from compression.distilling.pupils import ending, question
from compression.quantizing.nets import state_of
from quickfit.compression.distilling import fine_tuned
from quickfit.compression.distilling.epochs import Checkpoint, better
from quickfit.compression.distilling.fine_tuning import _notes
from quickfit.compression.distilling.scoring import Score
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]
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


def test_a_student_learns_and_the_one_that_was_given_stays_as_it_is(lesson):
    student, before, made = lesson
    assert accuracy(made.model) > accuracy(student) + 0.2
    assert made.notes[0].startswith("Kept: labels, epoch")
    assert state_of(student) == before


def test_what_comes_out_is_built_like_the_student(lesson):
    student, _, made = lesson
    assert [layer.name for layer in made.model.layers] == [layer.name for layer in student.layers]
    assert made.model.get_layer("head").activation.__name__ == "softmax"
    assert made.model.compiled


def test_the_same_seed_gives_the_same_student_and_another_one_another(lesson):
    student, _, made = lesson
    again, other = (fine_tuned(student, DATA, epochs=3, seed=seed, **FAST).model for seed in (4, 5))
    assert same(made.model, again)
    assert not same(made.model, other)


def test_training_that_harms_is_undone():
    student, scores = ending("dense"), iter([0.9, 0.8, 0.9])
    made = fine_tuned(student, DATA, epochs=2, validation=lambda model: next(scores))
    assert same(made.model, student)
    assert made.notes == (
        "Training did not make it better (0.9 at best, 0.9 before): the model is as it was.",
    )
    assert not made.model.compiled


def test_a_larger_learning_rate_is_tried_as_long_as_it_measures_better():
    student, scores = ending("dense"), iter([0.5, 0.6, 0.7, 0.65])
    made = fine_tuned(student, DATA, validation=lambda model: next(scores))
    assert made.notes[0] == (
        "Kept: labels at a learning rate of 0.001, epoch 1: 0.7, and 0.5 before training."
    )
    assert next(scores, None) is None
    alone = fine_tuned(student, DATA, validation=rising()[0], learning_rate=1e-3)
    assert same(made.model, alone.model)


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


def test_a_teacher_that_is_no_better_than_labels_is_told_as_that():
    moments = [Checkpoint(what, Score((n,), str(n)), []) for what, n in START_LABELS_TEACHER]
    assert functools.reduce(better, moments) is moments[1]
    assert _notes(moments, moments[1]) == [
        "Kept: labels: 0.9, and 0.5 before training.",
        "The teacher is no better than labels alone: 0.9 against 0.9.",
    ]


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


def test_a_dataset_and_a_list_of_batches_will_do(tf):
    dataset = tf.data.Dataset.from_tensor_slices(DATA).batch(16)
    student = ending("dense")
    made = fine_tuned(student, dataset, epochs=3, learning_rate=0.02, validation=[VALIDATION])
    assert accuracy(made.model) > accuracy(student)


def test_values_are_judged_by_their_loss():
    student = ending("logits")
    student.compile(loss="mse")
    (x, y), (other_x, other_y) = DATA, VALIDATION
    kept_apart = (other_x, np.eye(3)[other_y])
    made = fine_tuned(student, (x, np.eye(3)[y]), validation=kept_apart, learning_rate=3e-4)
    assert made.notes[0].startswith("Kept: labels, epoch 1: loss ")


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


def test_labels_that_the_model_does_not_know_are_told():
    x, y = DATA
    with pytest.raises(ModelError, match=r"The training failed: .*label value of 7"):
        fine_tuned(ending("dense"), (x, y + 5), validation=VALIDATION)


def test_labels_for_validation_of_another_form_are_told():
    student = ending("dense")
    student.compile(loss="categorical_crossentropy")
    x, y = DATA
    with pytest.raises(ModelError, match=r"The look at the validation data failed: .*shape"):
        fine_tuned(student, (x, np.eye(3)[y]), validation=VALIDATION)


def test_a_frozen_model_is_told():
    student = ending("dense")
    student.trainable = False
    with pytest.raises(ModelError, match="'pupil' has no weights to train"):
        fine_tuned(student, DATA, validation=VALIDATION)


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
