"""Tests of which layers stay in float32, and why."""

import pytest

from quickfit.tuning.precision.keeping import (
    HEAD,
    IDS,
    INPUT,
    REGULARIZER,
    SOFTMAX,
    head_layers,
    kept_layers,
    rounded_lookups,
)

pytestmark = pytest.mark.loads_tf


def names(layers):
    return {layer.name for layer in layers}


def kept(model, policy="mixed_float16"):
    reasons = kept_layers(model, policy)
    flat = model._flatten_layers()
    return {layer.name: reasons[id(layer)] for layer in flat if id(layer) in reasons}


def test_an_activation_at_the_end_is_enough(models):
    assert names(head_layers(models.classifier()[0])) == {"classes"}


def test_a_head_reaches_back_through_operations_to_a_layer_with_weights(models):
    assert names(head_layers(models.functional()[0])) == {"last"}


def test_every_output_has_its_head_also_inside_a_model(models):
    assert names(head_layers(models.nested()[0])) == {"softmax", "value"}


def test_a_head_reaches_back_through_layers_without_weights(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(4, name="hidden"),
            layers.Dense(4, name="last"),
            layers.Dropout(0.5, name="dropout"),
            layers.Reshape((2, 2), name="shaped"),
        ]
    )
    assert names(head_layers(model)) == {"last", "dropout", "shaped"}
    functional = keras.Model(model.inputs, model.outputs)
    assert names(head_layers(functional)) == {"last", "dropout", "shaped"}


def test_a_head_is_known_before_a_model_is_built(models):
    import keras

    layers = keras.layers
    model = keras.Sequential([layers.Dense(4, name="a"), layers.Dense(1, name="b"), layers.ReLU()])
    assert "a" not in names(head_layers(model))


def test_an_output_that_is_an_input_ends_there(models):
    import keras

    inputs = keras.Input((8,), name="given")
    model = keras.Model(inputs, [inputs * 2, keras.layers.Dense(1, name="last")(inputs)])
    assert names(head_layers(model)) == {"given", "last"}


def test_the_reason_is_told(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Rescaling(1 / 255, name="rescaled"),
            layers.Dense(8, activation="softmax", name="gate"),
            layers.UnitNormalization(name="unit"),
            layers.Dense(4, activity_regularizer="l2", name="sparse"),
            layers.LayerNormalization(epsilon=1e-12, name="safe"),
            layers.Dense(1, name="last"),
        ]
    )
    found = kept(model)
    assert set(found) == {"rescaled", "gate", "unit", "sparse", "last"}
    assert (found["rescaled"], found["gate"], found["last"]) == (INPUT, SOFTMAX, HEAD)
    assert found["unit"] == "its epsilon of 1e-12 is 0 in float16"
    assert found["sparse"] == REGULARIZER
    assert kept(model, "mixed_bfloat16")["sparse"] == REGULARIZER


def test_bfloat16_has_the_range_of_float32(models):
    import keras

    layers = [keras.Input((8,)), keras.layers.UnitNormalization(), keras.layers.Dense(1, name="a")]
    assert kept(keras.Sequential(layers), "mixed_bfloat16") == {"a": HEAD}


def test_an_epsilon_of_a_layer_of_the_users_is_seen(models):
    assert kept(models.functional()[0])["dividing"] == "its eps of 1e-12 is 0 in float16"


def lookup():
    import keras

    return [keras.layers.Embedding(5000, 2, name="lookup"), keras.layers.Dense(1, name="last")]


def test_ids_that_keras_would_round_keep_their_lookup_in_float32(models):
    import keras

    model = keras.Sequential(lookup())
    assert kept(model, "mixed_bfloat16") == {"lookup": IDS, "last": HEAD}
    assert kept(keras.Sequential([model]), "mixed_bfloat16")["lookup"] == IDS


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_ids_of_a_type_that_holds_them_are_safe(models, dtype):
    import keras

    model = keras.Sequential([keras.Input((4,), dtype=dtype), *lookup()])
    assert rounded_lookups(model) == []


def test_an_input_in_16_bits_is_not_safe(models):
    import keras

    model = keras.Sequential([keras.Input((4,), dtype="bfloat16"), *lookup()])
    assert names(rounded_lookups(model)) == {"lookup"}
