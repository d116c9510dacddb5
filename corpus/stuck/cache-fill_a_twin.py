# EXPECT moving
# NOTE the same warm-up of the cache with 60 scans, done in some 6 s, then short training steps.
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

N_SCANS = 60
SHAPE = (32, 32, 8)


def read_scan(i):
    """Reads and resamples one CT volume (simulated)."""
    time.sleep(0.1)
    rng = np.random.default_rng(int(i))
    return rng.normal(size=SHAPE).astype(np.float32), np.float32(i % 2)


def tf_read_scan(i):
    vol, lab = tf.py_function(read_scan, [i], [tf.float32, tf.float32])
    return tf.ensure_shape(vol, SHAPE), tf.ensure_shape(lab, ())


def get_data():
    ds = tf.data.Dataset.range(N_SCANS).map(tf_read_scan).cache()
    # read everything once, so that the epochs are fast
    for _ in ds:
        pass
    return ds.shuffle(100).batch(10)


def get_model():
    i = keras.Input(SHAPE)
    x = keras.layers.Conv2D(8, 3, activation="relu")(i)
    x = keras.layers.GlobalMaxPooling2D()(x)
    return keras.Model(i, keras.layers.Dense(1, activation="sigmoid")(x))


def train():
    model = get_model()
    model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(1e-3))
    data = get_data()
    model.fit(data, epochs=100, verbose=2)


if __name__ == "__main__":
    train()
