"""Python in the graphs of a train step, of validation and of a dataset; one of them fails."""

import keras
import numpy as np
import tensorflow as tf


def weigh(labels):
    return np.ones(labels.shape, "float32")


def distance(labels, scores):
    return tf.reduce_mean((labels - scores) ** 2)


def scale(values):
    if values.max() > 1:
        raise ValueError("too large")
    return values * np.float32(2)


class Weighted(keras.losses.Loss):
    def call(self, y_true, y_pred):
        weights = tf.numpy_function(weigh, [y_true], tf.float32)  # line: loss
        weights = tf.ensure_shape(weights, (None, 1))
        apart = tf.py_function(distance, [y_true, y_pred], tf.float32)  # line: distance
        return tf.reduce_mean(weights * (y_true - y_pred) ** 2) + tf.ensure_shape(apart, ())


def prepare(x, y):
    x = tf.numpy_function(scale, [x], tf.float32)  # line: map
    return tf.ensure_shape(x, (4,)), y


x = np.random.default_rng(0).random((64, 4), "float32")
y = x[:, :1]
ds = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare).batch(16)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", loss=Weighted())
model.fit(ds, epochs=3, validation_data=ds, verbose=0)


@tf.function
def step(values):
    return tf.numpy_function(scale, [values], tf.float32)  # line: function


@tf.function
def epoch(batches):
    total = 0.0
    for batch, _ in batches:
        weights = tf.numpy_function(weigh, [batch], tf.float32)  # line: loop
        total += tf.reduce_sum(tf.ensure_shape(weights, (None, 4)))
    return total


print(float(epoch(ds)))
try:
    step(tf.fill([2], 3.0))
except tf.errors.InvalidArgumentError as error:
    print(error)
