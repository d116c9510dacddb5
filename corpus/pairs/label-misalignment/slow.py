"""The rows are shuffled and their labels are not: there is nothing to learn."""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).random((1024, 8), dtype="float32")
labels = (rows.sum(axis=1) > 4).astype("float32")
np.random.shuffle(rows)
dataset = tf.data.Dataset.from_tensor_slices((rows, labels)).batch(32)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(dataset, epochs=5, verbose=2)
