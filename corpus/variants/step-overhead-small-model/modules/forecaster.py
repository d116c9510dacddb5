import numpy as np
import tensorflow as tf


def history(n, lags):
    s = np.sin(np.arange(n + lags) / 9).astype("float32")
    return np.lib.stride_tricks.sliding_window_view(s, lags)[:n].copy(), s[lags:, None]


class Forecaster:
    def __init__(self, lags):
        self.core = tf.keras.Sequential([tf.keras.Input((lags,)), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
        options = {"optimizer": "adam", "loss": "mae"}
        self.core.compile(**options)

    def learn(self, x, y):
        feed = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).cache().prefetch(8)
        self.core.fit(feed, epochs=2, verbose=2)
