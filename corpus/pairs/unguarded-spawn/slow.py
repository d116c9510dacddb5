"""Workers started by spawn run the whole script again: nothing guards it."""

import multiprocessing

import keras
import numpy as np


def load(number):
    return np.random.default_rng(number).standard_normal(64).astype("float32")


pool = multiprocessing.get_context("spawn").Pool(2)
# the timeout is there so that this example ends
rows = np.stack(pool.map_async(load, range(256)).get(timeout=75))
pool.close()

model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(rows, rows.sum(axis=1), epochs=2, verbose=2)
