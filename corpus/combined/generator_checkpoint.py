# EXPECT first=from-generator file=train.py line=23 second=checkpoint-too-often
# WHY rows one by one through from_generator cost most; a checkpoint every 4 batches costs less
"""Bike rental demand."""
import os
import tempfile
import time

import numpy as np
import tensorflow as tf


class Rentals:
    def __init__(self, n):
        r = np.random.default_rng(303)
        self.x = r.random((n, 17)).astype("float32")
        self.y = (self.x.sum(1) * 10).astype("float32")

    def __iter__(self):
        for i in range(len(self.x)):
            yield self.x[i], self.y[i:i + 1]

    def dataset(self, batch):
        return tf.data.Dataset.from_generator(lambda: iter(self), output_signature=(tf.TensorSpec((17,), tf.float32), tf.TensorSpec((1,), tf.float32))).batch(batch).prefetch(2)


model = tf.keras.Sequential([tf.keras.Input((17,)), tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
folder = tempfile.mkdtemp()
keep = tf.keras.callbacks.ModelCheckpoint(os.path.join(folder, "last.keras"), save_freq=4)
t0 = time.time()
model.fit(Rentals(14000).dataset(64), epochs=2, callbacks=[keep], verbose=2)
print(f"training took {time.time() - t0:.1f} s")
