"""Labels in the form that a loss takes, and the loss of a model that nobody compiled."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.shrinking.learning import Lessons, labels_for
from quickfit.compression.sources.classes import Classes
from quickfit.compression.sources.labelled import Labelled

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

CODES = np.array([0, 1, 2, 3] * 8)
FOUR = Classes(CODES, 4)


def lessons_for(model, classes=FOUR):
    data = models.data_for(model, len(CODES))
    samples = Labelled((data,), classes.codes)
    return Lessons(graph_of(model), samples, samples, (classes, classes))


@pytest.mark.parametrize("loss", [None, "sparse_categorical_crossentropy"])
def test_numbers_of_classes_stay_numbers(loss):
    np.testing.assert_array_equal(labels_for(loss, FOUR, None), CODES)


@pytest.mark.parametrize("loss", ["categorical_crossentropy", "mse", "binary_crossentropy"])
def test_other_losses_get_vectors(loss):
    np.testing.assert_array_equal(labels_for(loss, FOUR, None), np.eye(4)[CODES])


def test_a_single_output_gets_a_column():
    found = labels_for("binary_crossentropy", Classes(np.array([0, 1]), 2, True), None)
    assert found.tolist() == [[0.0], [1.0]]


def test_a_loss_of_the_users_gets_what_the_user_gave():
    def own(wanted, found):
        return found

    assert labels_for(own, FOUR, "as they came") == "as they came"


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
