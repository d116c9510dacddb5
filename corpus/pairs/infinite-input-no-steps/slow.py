"""Data that is repeated without end, and no number of steps: the first epoch never ends."""

import signal

import keras
import numpy as np
import tensorflow as tf

signal.alarm(75)  # so that this example ends
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.standard_normal((2048, 32)).astype("float32")
y = x.sum(axis=1)

ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2048).repeat()
ds = ds.batch(32).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(ds, epochs=2, verbose=2)
