"""Tests of training on a batch that is made up."""

import numpy as np
import pytest

from quickfit.tuning.precision.rehearsing import (
    HalfLossError,
    batch_for,
    rehearse,
    require_whole_losses,
)

pytestmark = pytest.mark.loads_tf

KINDS = ("classifier", "functional", "nested", "words", "attention")
FAILURES = (ValueError, TypeError)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_found_and_nothing_is_changed(models, kind):
    model, _, _, _ = getattr(models, kind)()
    before = [np.array(one.numpy()) for one in model.variables]
    batch = batch_for(model, FAILURES)
    assert batch is not None
    rehearse(model, batch)
    after = [one.numpy() for one in model.variables]
    assert all(one.tobytes() == two.tobytes() for one, two in zip(before, after, strict=True))


def test_axes_of_any_length_are_made_longer_where_poolings_need_it(models):
    import keras
    import tensorflow as tf

    inputs = keras.Input((None, None, 3))
    x = keras.layers.AveragePooling2D(8)(inputs)
    x = keras.layers.Conv2D(2, 3)(x)
    model = keras.Model(inputs, keras.layers.GlobalMaxPooling2D()(x))
    assert batch_for(model, (*FAILURES, tf.errors.OpError)).shape == (2, 64, 64, 3)


def test_a_fixed_batch_size_is_kept_and_ids_are_zeros(models):
    import keras

    inputs = keras.Input(batch_shape=(5, 3), dtype="int32")
    model = keras.Model(inputs, keras.layers.Embedding(1, 2)(inputs))
    assert np.array_equal(batch_for(model, FAILURES), np.zeros((5, 3)))


def test_a_model_that_is_not_built_or_never_works_has_no_batch(models):
    import keras

    class Never(keras.layers.Layer):
        def call(self, x, training=False):
            if training:
                raise ValueError("never")
            return x

    assert batch_for(keras.Sequential([keras.layers.Dense(1)]), FAILURES) is None
    assert batch_for(keras.Sequential([keras.Input((2,)), Never()]), FAILURES) is None


def test_what_layers_add_to_the_loss_is_not_left_behind(models):
    import keras

    model = keras.Sequential([keras.Input((8,)), models.Penalty(), keras.layers.Dense(1)])
    assert batch_for(model, FAILURES) is not None
    assert model.losses == []
    rehearse(model, np.ones((2, 8), "float32"))
    require_whole_losses([(one, one) for one in model.layers])


def test_a_loss_in_16_bits_names_its_layer(models):
    import keras

    model = keras.Sequential([keras.Input((8,)), models.Penalty(dtype="mixed_bfloat16")])
    rehearse(model, np.ones((2, 8), "float32"))
    with pytest.raises(HalfLossError, match="adds a loss in bfloat16, and Keras sums") as caught:
        require_whole_losses([("the model's", model.layers[0])])
    assert caught.value.layer == "the model's"
