"""What is known of a model's layers."""

import pytest

from quickfit.tuning.stepping.weights import float16_layers, statistics, takes_training

pytestmark = pytest.mark.loads_tf


def test_statistics_are_moving_averages_of_layers_that_train(models):
    import keras

    live, frozen = keras.layers.BatchNormalization(), keras.layers.BatchNormalization()
    model = models.dense(live, keras.layers.Dropout(0.5), frozen)
    frozen.trainable = False
    assert {id(one) for one in statistics(model)} == {
        id(live.moving_mean),
        id(live.moving_variance),
    }


def test_float16_is_found_in_nested_models(models):
    import keras

    inner = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, dtype="mixed_float16")])
    assert float16_layers(models.dense(inner)) == [inner.layers[0].name]


def test_training_is_passed_to_models_that_take_it(models, tf):
    import keras

    class Plain(keras.Model):
        def call(self, x):
            return x

    assert takes_training(models.dense())
    assert not takes_training(Plain())
