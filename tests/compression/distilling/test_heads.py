"""Softmax and sigmoid at the end of a model are found wherever they are written."""

import numpy as np
import pytest

from compression import models
from compression.distilling.pupils import CLASSES, ending, question
from compression.quantizing.nets import state_of
from quickfit.compression.distilling.heads import model_heads, split_logits, training_goal
from quickfit.compression.graph import graph_of
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize(
    ("end", "activation", "is_inside"),
    [
        ("dense", "softmax", True),
        ("layer", "softmax", False),
        ("activation", "softmax", False),
        ("operation", "softmax", False),
        ("cast", "softmax", True),
        ("sigmoid", "sigmoid", True),
        ("logits", "linear", False),
        ("hidden", "linear", False),
        ("axis", "linear", False),
    ],
)
def test_the_activation_is_found(end, activation, is_inside):
    (head,) = model_heads(graph_of(ending(end)))
    assert (head.activation, head.is_inside) == (activation, is_inside)


def test_a_function_of_the_users_that_is_called_softmax_is_not_taken_for_it():
    import keras

    def softmax(x):
        return x * 2

    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(2, activation=softmax)(inputs))
    assert model_heads(graph_of(model))[0].activation == "linear"


def test_the_input_as_output_has_no_activation():
    import keras

    inputs = keras.Input((4,))
    model = keras.Model(inputs, [keras.layers.Dense(1, activation="sigmoid")(inputs), inputs])
    assert [head.activation for head in model_heads(graph_of(model))] == ["sigmoid", "linear"]


@pytest.mark.parametrize("end", ["dense", "layer", "activation", "operation", "cast", "sigmoid"])
def test_logits_make_the_answers_and_the_answers_are_those_of_the_model(end):
    import keras

    model, (x, _) = ending(end), question(5)
    found = split_logits(model)
    answers, logits = np.asarray(found.whole(x)), found.logits(x)
    np.testing.assert_array_equal(answers, np.asarray(model(x)))
    function = keras.activations.get(found.heads[0].activation)
    np.testing.assert_allclose(np.asarray(function(logits)), answers, rtol=1e-5)


def test_a_model_without_activation_gives_its_output_as_logits():
    model, (x, _) = ending("logits"), question(5)
    np.testing.assert_array_equal(np.asarray(split_logits(model).logits(x)), np.asarray(model(x)))


def test_both_models_share_their_layers():
    found = split_logits(ending("dense"))
    assert {id(v) for v in found.logits.variables} == {id(v) for v in found.whole.variables}


def test_outputs_keep_their_names_and_structure():
    import keras

    inputs = keras.Input((4,))
    a = keras.layers.Dense(2, activation="softmax", name="a")(inputs)
    b = keras.layers.Dense(1, name="b")(inputs)
    model = models.settled(keras.Model(inputs, {"kind": a, "size": b}))
    found = split_logits(model)
    assert sorted(found.whole.output) == ["kind", "size"]
    assert found.whole.output_names == model.output_names
    assert found.renamed == {"a": "a_logits"}
    assert [tuple(one.shape) for one in found.logits.outputs] == [(None, 2), (None, 1)]


def test_a_shared_layer_stays_shared_and_a_name_that_is_taken_is_left_alone():
    import keras

    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    first = keras.layers.Dense(4, name="head_logits")
    head = keras.layers.Dense(3, activation="softmax", name="head")
    model = models.settled(keras.Model([left, right], [head(first(left)), head(right)]))
    found, x = split_logits(model), [question(4)[0], question(4, 1)[0]]
    assert found.renamed == {"head": "head_logits_"}
    assert len(found.whole.trainable_variables) == 4
    for ours, theirs in zip(models.results(found.whole, x), models.results(model, x), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_flags_and_precision_go_with_the_layer_and_the_model_stays_as_it_is():
    import keras

    inputs = keras.Input((4,))
    outputs = keras.layers.Dense(3, activation="softmax", dtype="mixed_float16", name="head")(
        inputs
    )
    model = models.settled(keras.Model(inputs, outputs))
    model.get_layer("head").trainable = False
    before = state_of(model)
    found = split_logits(model)
    assert not found.whole.trainable_variables
    assert found.whole.get_layer("head_logits").dtype_policy.name == "mixed_float16"
    assert found.logits.output.dtype == "float32"
    assert state_of(model) == before


INTEGERS, ONE_HOT = np.array([0, 2, 1]), np.eye(CLASSES)


def goal(model, labels=INTEGERS, teacher=None):
    graph = graph_of(model)
    return training_goal(graph, model_heads(graph), teacher, labels)


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
