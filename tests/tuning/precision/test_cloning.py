"""Tests of models made again layer by layer."""

import pytest

from quickfit.tuning.precision.applying import apply_precision
from quickfit.tuning.precision.cloning import global_policy

pytestmark = pytest.mark.loads_tf


def fail_in(policy):
    with global_policy(policy):
        raise RuntimeError


def test_the_global_policy_is_as_before_also_after_an_error(models):
    import keras

    before = keras.config.dtype_policy()
    with global_policy("mixed_float16"):
        assert keras.config.dtype_policy().name == "mixed_float16"
    with pytest.raises(RuntimeError):
        fail_in("mixed_float16")
    assert keras.config.dtype_policy() == before


def test_a_model_stays_compiled_also_after_an_error(models):
    import keras

    from quickfit.errors import ModelError

    model = keras.Sequential([keras.Input((8,)), models.Unnamed(abs), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ModelError):
        apply_precision(model)
    assert model.compiled


def test_operations_of_the_model_know_nothing_of_the_copy(models):
    model = models.functional()[0]
    before = [len(one._inbound_nodes) for one in model.operations]
    apply_precision(model)
    assert [len(one._inbound_nodes) for one in model.operations] == before


def test_names_are_kept(models):
    model = models.functional()[0]
    copied = apply_precision(model)
    assert copied.name == model.name
    assert [layer.name for layer in copied.layers[1:]] == [one.name for one in model.layers[1:]]


def test_a_function_of_the_users_in_a_layer_of_keras_is_found(models):
    import keras

    def bent(x):
        return keras.ops.tanh(x) * 2

    layer = keras.layers.Dense(8, activation=bent, name="bent")
    model = keras.Sequential([keras.Input((8,)), layer, keras.layers.Dense(1)])
    assert apply_precision(model).get_layer("bent").activation is bent


def test_each_layer_keeps_its_own_lambda(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(8, activation=lambda x: x * 2, name="twice"),
            layers.Dense(8, activation=lambda x: x * 3, name="thrice"),
            layers.Dense(1),
        ]
    )
    copied = apply_precision(model)
    for name in ("twice", "thrice"):
        assert copied.get_layer(name).activation is model.get_layer(name).activation


def test_a_class_that_only_puts_layers_together_may_become_a_plain_model(models):
    import keras

    class Net(keras.Model):
        def __init__(self, width):
            inputs = keras.Input((4,))
            x = keras.layers.Dense(width)(inputs)
            super().__init__(inputs, keras.layers.Dense(1)(x))

    copied = apply_precision(Net(8), "mixed_bfloat16")
    assert copied.count_params() == 49
