"""A generator that does the same work for every batch."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.random((4000, 64), "float32")
y = x.sum(axis=1, keepdims=True)


def batches():
    while True:
        rows = rng.permutation(len(x))[:64]
        yield np.sort(x[rows], axis=1), y[rows]


layers = [keras.layers.Dense(128, activation="relu") for _ in range(2)]
model = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(batches(), steps_per_epoch=1000, epochs=5, verbose=2)
