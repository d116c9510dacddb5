"""Fits on a weighted mix of two classes from `sample_from_datasets`.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys

import keras
import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
rng = np.random.default_rng(9)
rare = rng.normal(1.0, 1.0, (50, 30)).astype("float32")
common = rng.normal(0.0, 1.0, (1000, 30)).astype("float32")


def endless(rows, label):
    labels = np.full(len(rows), label, "int32")
    return tf.data.Dataset.from_tensor_slices((rows, labels)).shuffle(len(rows)).repeat()


balanced = tf.data.Dataset.sample_from_datasets(
    [endless(rare, 1), endless(common, 0)], weights=[0.5, 0.5], seed=4
)
model = keras.Sequential(
    [keras.layers.Dense(400, "relu"), keras.layers.Dense(400, "relu"), keras.layers.Dense(1)]
)
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(balanced.batch(32), steps_per_epoch=n, epochs=2, verbose=0)  # the loop
