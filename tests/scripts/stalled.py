"""Fits on a generator that never yields its thirtieth batch."""

import threading

import keras
import numpy as np


def batches():
    """Yield 29 batches, then wait for ever."""
    for _ in range(29):
        x = np.ones((4, 4), "float32")
        yield x, x[:, :1]
    print("stalled", flush=True)
    threading.Event().wait()  # line: stall


model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches(), steps_per_epoch=100, verbose=0)  # line: fit
