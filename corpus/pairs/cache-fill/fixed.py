"""Shuffled before it is read, many reads at a time: training runs beside the filling."""

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)


def fetch(number):
    time.sleep(0.025)  # a store that is far away
    return np.full(64, number % 10, "float32")


def load(number):
    row = tf.numpy_function(fetch, [number], tf.float32)
    row.set_shape((64,))
    return row, tf.cast(number % 10, tf.float32)


ds = tf.data.Dataset.range(3000).shuffle(3000).map(load, num_parallel_calls=32)
ds = ds.cache().shuffle(500).batch(32)

model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(ds, epochs=2, verbose=2)
