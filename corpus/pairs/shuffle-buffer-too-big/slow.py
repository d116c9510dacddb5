"""The shuffle holds all lines of a table, so every epoch parses all of it before its first step."""

import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

# One core for the model, as on a server that is shared; the other is left for the input.
tf.config.threading.set_intra_op_parallelism_threads(1)
keras.utils.set_random_seed(0)
file = os.path.join(tempfile.mkdtemp(), "table.csv")
rows = np.random.default_rng(0).integers(0, 1000, (200, 121))
lines = [",".join(map(str, row)) for row in rows]
with open(file, "w") as table:
    table.write("\n".join(lines * 60))


def parse(line):
    values = tf.stack(tf.io.decode_csv(line, [0.0] * 121)) / 1000.0
    values += tf.random.uniform((121,), 0.0, 0.01)
    return tf.reshape(values[:120], (20, 6)), values[120]


ds = tf.data.TextLineDataset(file)
ds = ds.map(parse, num_parallel_calls=2)
ds = ds.shuffle(20_000)
ds = ds.batch(64).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential([keras.Input((20, 6)), keras.layers.GRU(32), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(ds, epochs=4, verbose=2)
