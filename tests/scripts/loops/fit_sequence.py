"""Fits on a `tf.keras.utils.Sequence`, the older name of a PyDataset.
Expect: kind=fit, steps=3*n, input=pydataset, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


class DataGenerator(tf.keras.utils.Sequence):
    """Shuffles its rows after every epoch."""

    def __init__(self, rows, batch_size=32):
        super().__init__()
        self.rows, self.batch_size = rows, batch_size
        self.on_epoch_end()

    def __len__(self):
        return len(self.rows) // self.batch_size

    def on_epoch_end(self):
        self.order = np.random.permutation(len(self.rows))

    def __getitem__(self, index):
        chosen = self.order[index * self.batch_size : (index + 1) * self.batch_size]
        batch = np.array([self.rows[i] for i in chosen])
        return batch, batch.sum(axis=1, keepdims=True)


rows = np.random.default_rng(0).normal(size=(n * 32, 40)).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1024, "relu"), tf.keras.layers.Dense(1)])
model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.001))
model.fit(DataGenerator(rows), epochs=3, verbose=0)  # the loop
