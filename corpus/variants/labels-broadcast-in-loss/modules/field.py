import numpy as np
import tensorflow as tf


def predictor():
    return tf.keras.Sequential([tf.keras.Input((300, 4)), tf.keras.layers.Conv1D(8, 5, padding="same", activation="relu"), tf.keras.layers.Dense(1)])


def batches(n, size):
    x = np.random.default_rng(36).normal(size=(n * size, 300, 4)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x.mean((1, 2)))).batch(size).prefetch(2)
