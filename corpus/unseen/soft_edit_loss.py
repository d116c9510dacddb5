import tensorflow as tf
import numpy as np
from tensorflow import keras


def dtw_weights(y, p):
    """Weight of every sample from a dynamic-time-warping distance."""
    y, p = np.asarray(y), np.asarray(p)
    out = np.zeros(len(y), np.float32)
    for b in range(len(y)):
        n = y.shape[1]
        acc = np.full((n + 1, n + 1), 1e9)
        acc[0, 0] = 0
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                d = abs(y[b, i - 1] - p[b, j - 1])
                acc[i, j] = d + min(acc[i - 1, j], acc[i, j - 1], acc[i - 1, j - 1])
        out[b] = acc[n, n] / n
    return out


class WarpedMSE(keras.losses.Loss):
    def call(self, y_true, y_pred):
        w = tf.numpy_function(dtw_weights, [y_true, y_pred], tf.float32)
        w.set_shape([None])
        return tf.reduce_mean(tf.square(y_true - y_pred), axis=-1) * (1.0 + w)


x = np.random.randn(1600, 24).astype("float32")
y = np.cumsum(x, axis=1)[:, ::2].astype("float32")
model = keras.Sequential([keras.layers.Dense(128, activation="relu"), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(12)])
model.compile("adam", WarpedMSE())
model.fit(x, y, batch_size=64, epochs=20, verbose=2)
