"""Fits on text files that are read in turn with `interleave`.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
COLUMNS = 12


def write_tables(folder, files=4, rows=200):
    rng = np.random.default_rng(2)
    for number in range(files):
        np.savetxt(folder / f"part{number}.csv", rng.normal(size=(rows, COLUMNS)), delimiter=",")


def parse(line):
    values = tf.stack(tf.io.decode_csv(line, [0.0] * COLUMNS))
    return values[1:], values[:1]


folder = Path(tempfile.mkdtemp())
write_tables(folder)
ds = tf.data.Dataset.from_tensor_slices(sorted(str(path) for path in folder.iterdir()))
ds = ds.interleave(tf.data.TextLineDataset, cycle_length=2, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.map(parse).repeat().batch(16).take(n)

hidden = [keras.layers.Dense(400, activation="relu") for _ in range(2)]
model = keras.Sequential([*hidden, keras.layers.Dense(1)])
model.compile("adam", "mse")
for _ in range(1):
    model.fit(ds, epochs=2, verbose=0)  # the loop
