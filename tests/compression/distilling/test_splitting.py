"""The copy of a model that gives its logits."""

import numpy as np
import pytest

from compression import models
from compression.distilling.pupils import ending, question
from compression.quantizing.nets import state_of
from quickfit.compression.distilling.splitting import split

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize("end", ["dense", "layer", "activation", "operation", "cast", "sigmoid"])
def test_logits_make_the_answers_and_the_answers_are_those_of_the_model(end):
    import keras

    model, (x, _) = ending(end), question(5)
    found = split(model)
    answers, logits = np.asarray(found.whole(x)), found.logits(x)
    np.testing.assert_array_equal(answers, np.asarray(model(x)))
    function = keras.activations.get(found.heads[0].activation)
    np.testing.assert_allclose(np.asarray(function(logits)), answers, rtol=1e-5)


def test_a_model_without_activation_gives_its_output_as_logits():
    model, (x, _) = ending("logits"), question(5)
    np.testing.assert_array_equal(np.asarray(split(model).logits(x)), np.asarray(model(x)))


def test_both_models_share_their_layers():
    found = split(ending("dense"))
    assert {id(v) for v in found.logits.variables} == {id(v) for v in found.whole.variables}


def test_outputs_keep_their_names_and_structure():
    import keras

    inputs = keras.Input((4,))
    a = keras.layers.Dense(2, activation="softmax", name="a")(inputs)
    b = keras.layers.Dense(1, name="b")(inputs)
    model = models.settled(keras.Model(inputs, {"kind": a, "size": b}))
    found = split(model)
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
    found, x = split(model), [question(4)[0], question(4, 1)[0]]
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
    found = split(model)
    assert not found.whole.trainable_variables
    assert found.whole.get_layer("head_logits").dtype_policy.name == "mixed_float16"
    assert found.logits.output.dtype == "float32"
    assert state_of(model) == before
