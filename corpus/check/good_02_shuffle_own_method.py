# EXPECT none
# NOTE the .shuffle(AUTOTUNE) is a method of the author's own builder (the argument is the number of reader threads); the Dataset gets the record count
# SEEN fine, exit 0; last line: 10/10 - 0s - 6ms/step - accuracy: 0.9150 - loss: 0.4562 - val_accuracy: 0.9750 - val_loss: 0.3345
from __future__ import annotations

import random

import numpy as np
import tensorflow as tf
from tensorflow import keras

AUTOTUNE = tf.data.AUTOTUNE


class Flow:
    """Tiny fluent builder around tf.data."""

    def __init__(self, x, y):
        self._n = len(x)
        self._ds = tf.data.Dataset.from_tensor_slices((x, y))
        self._threads = 1

    def shuffle(self, threads):
        # full shuffle; `threads` are used by the following transform
        self._threads = threads
        self._ds = self._ds.shuffle(self._n)
        return self

    def transform(self, fn):
        self._ds = self._ds.map(fn, self._threads)
        return self

    def done(self, batch):
        return self._ds.batch(batch).prefetch(AUTOTUNE)


def scale(x, y):
    return x / 10.0, y


names = [f"fold{i}" for i in range(4)]
random.Random(0).shuffle(names)
print("order of folds:", names)

rng = np.random.default_rng(5)
x = rng.uniform(0, 10, (240, 3)).astype("float32")
y = (x.sum(1, keepdims=True) > 15).astype("float32")

order = tf.random.shuffle(tf.range(len(x)), seed=2).numpy()
x, y = x[order], y[order]

train = Flow(x[:200], y[:200]).shuffle(AUTOTUNE).transform(scale).done(20)
held = tf.data.Dataset.from_tensor_slices((x[200:], y[200:])).map(scale, AUTOTUNE).batch(20)

model = keras.Sequential()
model.add(keras.Input((3,)))
model.add(keras.layers.Dense(8, activation="tanh"))
model.add(keras.layers.Dense(1, activation="sigmoid"))
model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
model.fit(train, validation_data=held, epochs=5, verbose=2)
