"""Fits in several calls: one per chunk of the data, then once more with another optimizer.
Expect: kind=fit, steps=2*n, input=arrays
"""

import sys

import keras
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
rng = np.random.default_rng(0)


def load_chunk(number):
    x = rng.normal(number, 1.0, (n * 16, 32)).astype("float32")
    return x, x[:, :2].sum(axis=1)


model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
for number in range(2):
    x, y = load_chunk(number)
    model.fit(x, y, batch_size=16, epochs=1, verbose=0)  # the loop

model.layers[0].trainable = False
model.compile(keras.optimizers.SGD(1e-4), "mse")
model.fit(x, y, batch_size=16, epochs=2, verbose=0)  # the loop
