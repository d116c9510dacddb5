"""Tests of how much layers multiply."""

import pytest

from quickfit.tuning.precision.costs import costs_of, step_flops

pytestmark = pytest.mark.loads_tf


def products(model):
    return {cost.layer.name: cost.products for cost in costs_of(model)}


def test_dense_layers_multiply_once_and_convolutions_at_every_pixel(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(4, 3, strides=2, padding="same", name="conv"),
            layers.BatchNormalization(),
            layers.Conv2DTranspose(2, 3, strides=2, padding="same", name="up"),
            layers.Flatten(),
            layers.Dense(10, name="dense"),
        ]
    )
    expected = {"conv": 3 * 3 * 3 * 4 * 16, "up": 3 * 3 * 2 * 4 * 16, "dense": 128 * 10}
    assert products(model) == expected
    assert step_flops(costs_of(model), 2) == 6 * 2 * sum(expected.values())


def test_recurrent_layers_multiply_at_every_step_and_lookups_never(models):
    import keras

    layers = keras.layers
    stack = [keras.Input((6,)), layers.Embedding(50, 8), layers.LSTM(4, name="lstm")]
    assert products(keras.Sequential(stack)) == {"lstm": (8 * 16 + 4 * 16) * 6}


def test_a_shared_layer_counts_every_time(models):
    import keras

    one, two = keras.Input((8,)), keras.Input((8,))
    shared = keras.layers.Dense(4, name="shared")
    model = keras.Model([one, two], shared(one) + shared(two))
    assert products(model) == {"shared": 2 * 32}


def test_layers_of_unknown_size_count_once(models):
    import keras

    stack = [keras.Input((None, None, 3)), keras.layers.Conv2D(4, 3, name="conv")]
    assert products(keras.Sequential(stack)) == {"conv": 108}


def test_a_model_of_its_own_class_is_counted_by_its_weights(models):
    import numpy as np

    model = models.OwnModel()
    assert products(model) == {}
    model(np.ones((1, 4), "float32"))
    assert sorted(products(model).values()) == [8, 32]
