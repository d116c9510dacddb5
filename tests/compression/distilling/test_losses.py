"""What a student is trained for."""

import numpy as np
import pytest

from compression.distilling.pupils import CLASSES, ending
from quickfit.compression.distilling.heads import heads_of
from quickfit.compression.distilling.losses import goal_of
from quickfit.compression.graph import graph_of
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]
INTEGERS, ONE_HOT = np.array([0, 2, 1]), np.eye(CLASSES)


def goal(model, labels=INTEGERS, teacher=None):
    graph = graph_of(model)
    return goal_of(graph, heads_of(graph), teacher, labels)


def test_the_loss_of_the_compile_wins():
    model = ending("dense")
    model.compile(loss="kl_divergence", loss_weights=[2.0])
    found = goal(model)
    assert (found.loss, found.loss_weights) == ("kl_divergence", [2.0])


def test_then_comes_that_of_the_teacher():
    teacher = ending("dense")
    teacher.compile(loss="categorical_focal_crossentropy")
    assert goal(ending("dense"), teacher=teacher).loss == "categorical_focal_crossentropy"


@pytest.mark.parametrize(
    ("end", "labels", "loss"),
    [
        ("dense", INTEGERS, "sparse_categorical_crossentropy"),
        ("dense", INTEGERS[:, None], "sparse_categorical_crossentropy"),
        ("layer", ONE_HOT, "categorical_crossentropy"),
        ("sigmoid", np.array([0, 1]), "binary_crossentropy"),
    ],
)
def test_else_the_output_and_the_labels_tell(end, labels, loss):
    found = goal(ending(end), labels)
    assert found.loss == loss
    assert found.scores_accuracy


@pytest.mark.parametrize("end", ["logits", "hidden"])
def test_a_loss_that_cannot_be_known_is_asked_for(end):
    with pytest.raises(ModelError, match="'pupil' for cannot be known: it has an output without"):
        goal(ending(end))


def test_several_outputs_need_a_compiled_model():
    import keras

    inputs = keras.Input((4,))
    head = keras.layers.Dense(2, activation="softmax")
    with pytest.raises(ModelError, match=r"several outputs.*\n    model.compile\(loss="):
        goal(keras.Model(inputs, [head(inputs), head(inputs)]))


@pytest.mark.parametrize(
    ("loss", "kind", "scores_accuracy"),
    [
        ("sparse_categorical_crossentropy", "softmax", True),
        ("binary_crossentropy", "sigmoid", False),  # a threshold of 0.5 is wrong for logits
        ("mse", "values", False),
        ("huber", "values", False),
        (lambda y, p: p, "unknown", False),
    ],
)
def test_without_activation_the_loss_tells_what_an_output_is(loss, kind, scores_accuracy):
    model = ending("logits")
    model.compile(loss=loss)
    found = goal(model)
    assert (found.kinds, found.scores_accuracy) == ((kind,), scores_accuracy)


@pytest.mark.parametrize("loss", [{"a": "mse", "b": None}, {"first": "mse"}, ["mse", None]])
def test_losses_are_found_by_name_and_by_place(loss):
    import keras

    inputs = keras.Input((4,))
    a, b = (keras.layers.Dense(2, name=name)(inputs) for name in "ab")
    outputs = {"first": a, "second": b} if "first" in loss else [a, b]
    model = keras.Model(inputs, outputs)
    model.compile(loss=loss)
    assert goal(model).kinds == ("values", "unknown")
