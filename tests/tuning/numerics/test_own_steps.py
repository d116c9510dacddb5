"""`find_nan` on models whose `train_step` is the user's own: no loss is compiled."""

import numpy as np
import pytest

from quickfit.tuning.numerics.finding import find_nan

from tuning.numerics.faulty_models import are_equal, batch, layer

pytestmark = pytest.mark.loads_tf


def own(loss, middle=None):
    """Return a model without a call of its own that is trained by two optimizers."""
    import keras
    import tensorflow as tf

    class Pair(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="dense")])
            if middle is not None:
                self.net.add(middle)
            self.second = keras.optimizers.Adam()
            self.seen = keras.metrics.Mean(name="seen")

        def train_step(self, data):
            x, y = keras.utils.unpack_x_y_sample_weight(data)[:2]
            with tf.GradientTape() as tape:
                value = loss(self.net(x, training=True), y)
            weights = self.net.trainable_variables
            gradients = tape.gradient(value, weights)
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
            self.second.apply(gradients, weights)
            self.seen.update_state(value)
            return {"seen": self.seen.result()}

    made = Pair()
    made.compile("sgd")
    return made


def held(made):
    return [np.array(one.numpy()) for one in (*made.variables, *made.optimizer.variables)]


def test_the_loss_of_the_step_is_named_with_its_line(tf):
    made = own(lambda p, y: tf.reduce_mean(tf.math.log(tf.abs(p) * 0)))
    before = held(made)
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name, culprit.op) == ("loss", "train_step", "Log")
    assert culprit.place.startswith("test_own_steps.py:")
    assert are_equal(before, held(made))
    assert not made.second.built  # and has no slots that a bad update could be in


def test_a_layer_in_the_step_is_named(tf):
    made = own(lambda p, y: tf.reduce_mean(p), layer("root", lambda x: tf.sqrt(x * 0 - 1)))
    culprit = find_nan(made, batch()[0])
    assert (culprit.kind, culprit.name, culprit.op) == ("layer", "root", "Sqrt")


def test_the_gradients_of_the_step_are_looked_at(tf):
    made = own(lambda p, y: tf.sqrt(tf.reduce_sum(p * 0)))
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name, culprit.op) == ("gradient", "train_step", "SqrtGrad")
    assert [name.split("/")[-1] for name in culprit.weights] == ["kernel", "bias"]


def test_a_healthy_step_has_no_culprit_also_after_a_bad_one(tf):
    made = own(lambda p, y: tf.reduce_mean(tf.square(p)))
    made.seen.update_state(np.nan)
    assert find_nan(made, batch()) is None
    assert np.isnan(made.seen.result())


def test_a_loss_that_is_given_or_compiled_is_looked_at_instead(tf):
    made = own(lambda p, y: tf.reduce_mean(tf.square(p)))
    made.call = made.net.call
    culprit = find_nan(made, batch(), loss=lambda y, p: tf.math.log(p * 0))
    assert (culprit.kind, culprit.name) == ("loss", "<lambda>")
