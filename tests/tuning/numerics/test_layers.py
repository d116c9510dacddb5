"""Which layer is blamed, where the shape of the model makes it hard."""

import numpy as np
import pytest

from quickfit.tuning.numerics.finding import find_nan

from tuning.numerics.faulty_models import batch, layer, model

pytestmark = pytest.mark.loads_tf


def test_a_mask_of_infinities_that_a_softmax_takes_in_is_innocent(tf):
    from keras import layers, ops

    def mask(x):
        return ops.where(ops.arange(8) < 4, x, -np.inf)

    def planted(hidden):
        hidden = layers.Softmax(name="softmax")(layer("mask", mask)(hidden))
        return layer("reciprocal", lambda x: 1.0 / (x * 0))(hidden)

    culprit = find_nan(model(planted), batch())
    assert culprit.name == "reciprocal"


def test_an_operation_between_the_layers_of_a_subclass_is_found_with_its_line(tf):
    import keras

    class Net(keras.Model):
        def __init__(self):
            super().__init__(name="subclassed")
            self.first = keras.layers.Dense(8)
            self.last = keras.layers.Dense(1)

        def call(self, x):
            hidden = tf.math.log(self.first(x) - 1000.0)
            return self.last(hidden)

    made = Net()
    x, y = batch()
    made(x)
    made.compile("sgd", "mse")
    culprit = find_nan(made, (x, y))
    assert (culprit.kind, culprit.name, culprit.op) == ("layer", "subclassed", "Log")
    assert culprit.place.startswith("test_layers.py:")


def test_statistics_that_the_pass_spoiled_are_not_blamed_for_it(tf):
    from keras import layers

    def planted(hidden):
        hidden = layer("large", lambda x: x * 0 + 2e38)(hidden)
        return layers.BatchNormalization(name="overflows")(hidden)

    culprit = find_nan(model(planted), batch())
    assert (culprit.kind, culprit.name) == ("layer", "overflows")
    assert culprit.op in ("Square", "SquaredDifference", "Mean", "Mul")


def test_a_function_inside_of_a_layer_is_looked_into(tf):
    inverse = layer("inverse", tf.function(lambda x: tf.math.reciprocal(x * 0)))
    culprit = find_nan(model(inverse), batch())
    assert (culprit.name, culprit.op) == ("inverse", "Reciprocal")


def test_a_layer_called_in_a_loop_of_a_recurrent_one_is_blamed_with_its_path(tf):
    import keras
    from keras import layers, ops

    cell = layers.SimpleRNNCell(4, activation=lambda x: ops.log(x - 100.0), name="cell")
    planted = keras.Sequential([layers.Reshape((2, 4)), layers.RNN(cell, name="memory")])
    culprit = find_nan(model(planted), batch())
    assert culprit.kind == "layer"
    assert "memory" in culprit.name
    assert culprit.op == "Log"
