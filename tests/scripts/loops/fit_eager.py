"""Fits with `run_eagerly=True`, as one does to debug and then forgets.
Expect: kind=fit, steps=2*n, input=arrays
"""

import sys

import numpy as np
from tensorflow import keras

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x_train = np.random.default_rng(0).random((n * 16, 10)).astype("float32")
y_train = x_train.sum(axis=1)

model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse", run_eagerly=True)
model.fit(x_train, y_train, batch_size=16, epochs=2, verbose=0)  # the loop
print("mse", model.evaluate(x_train[:32], y_train[:32], verbose=0))
