import numpy as np
import tensorflow as tf


def classifier():
    m = tf.keras.Sequential([tf.keras.Input((12,)), tf.keras.layers.Dense(24, activation="tanh"), tf.keras.layers.Dense(4)])
    m.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return m


def table(n):
    r = np.random.default_rng(21)
    return r.normal(size=(n, 12)).astype("float32"), r.integers(0, 4, n)
