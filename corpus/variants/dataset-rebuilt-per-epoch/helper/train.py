# EXPECT cause=dataset-rebuilt-per-epoch file=train.py line=42
# WHY Experiment.one_epoch() builds the dataset again, so its cache of parsed JSON-like logs is thrown away each epoch
"""Predict session length from server log lines."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

FIELDS = ["ms", "bytes", "depth", "retries", "ua", "hour", "score", "age", "lat"]


def write_log(n):
    r = np.random.default_rng(70)
    vals = r.integers(0, 9999, (n, len(FIELDS)))
    return [" ".join(f"{k}={v}" for k, v in zip(FIELDS, row)) for row in vals]


class Experiment:
    def __init__(self, log, batch=100):
        self.log, self.batch = log, batch
        self.model = keras.Sequential([
            keras.Input((len(FIELDS) - 1,)),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(1),
        ])
        self.model.compile(keras.optimizers.RMSprop(), "mae")

    @staticmethod
    def parse(line):
        pairs = tf.strings.split(tf.strings.split(line, " "), "=").to_tensor()
        v = tf.strings.to_number(pairs[:, 1]) / 10000.0
        v = tf.ensure_shape(v, (len(FIELDS),))
        return v[1:], v[:1]

    def make_events(self):
        ds = tf.data.Dataset.from_tensor_slices(self.log)
        ds = ds.map(self.parse, num_parallel_calls=tf.data.AUTOTUNE).cache()
        return ds.shuffle(1000).batch(self.batch).prefetch(tf.data.AUTOTUNE)

    def one_epoch(self, k):
        events = self.make_events()
        hist = self.model.fit(events, initial_epoch=k, epochs=k + 1, verbose=0)
        print(f"[{k:02d}] mae {hist.history['loss'][0]:.4f}")


exp = Experiment(write_log(4500))
t0 = time.time()
for k in range(22):
    exp.one_epoch(k)
print(f"training took {time.time() - t0:.1f} s")
