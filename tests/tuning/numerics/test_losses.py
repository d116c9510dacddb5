"""Which part of a loss is blamed."""

import numpy as np
import pytest

from quickfit.tuning.numerics.finding import find_nan

from tuning.numerics.faulty_models import batch, model

pytestmark = pytest.mark.loads_tf


def test_a_regularizer_is_blamed_with_its_layer(tf):
    from keras import layers, ops

    dense = layers.Dense(8, name="held", kernel_regularizer=lambda w: ops.log(ops.sum(w) * 0))
    culprit = find_nan(model(dense), batch())
    assert (culprit.kind, culprit.name) == ("loss", "held (added loss or regularizer)")
    assert "from_logits" not in culprit.hint


def test_a_label_outside_of_the_classes_is_named_with_its_value(tf):
    import keras

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    culprit = find_nan(model(loss=loss), (batch()[0], np.full(8, 7)))
    assert culprit.headline == "the label `y` does not fit the model, before the step begins"
    assert "The label 7 is outside of the classes [0, 1)" in culprit.hint


def test_another_error_of_the_loss_is_shown_as_it_is(tf):
    def loss(y, outputs):
        tf.debugging.assert_less(outputs, -1e9, message="mine")
        return outputs

    with pytest.raises(tf.errors.InvalidArgumentError, match="mine"):
        find_nan(model(), batch(), loss=loss)


def test_a_given_loss_takes_the_place_of_the_compiled_one(tf):
    import keras

    class Broken(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return y_pred / 0.0

    assert find_nan(model(), batch(), loss=Broken(name="broken")).name == "broken"
