"""Slowing down, first block: every batch is made by NumPy and handed to `train_on_batch`."""

import keras
import numpy as np
import tensorflow as tf

EPOCHS, BATCHES, ROWS, INPUTS, OUTPUTS = 2, 40, 32, 20, 5

model = keras.Sequential([keras.Input((INPUTS,)), keras.layers.Dense(OUTPUTS)])
model.compile("adam", "mse")

for _ in range(EPOCHS):
    for _ in range(BATCHES):
        rows = np.random.rand(ROWS, INPUTS)
        wanted = np.random.rand(ROWS, OUTPUTS)
        with tf.device("/GPU:0"):
            rows_there = tf.convert_to_tensor(rows, dtype=tf.float32)
            wanted_there = tf.convert_to_tensor(wanted, dtype=tf.float32)
            result = model.train_on_batch(rows_there, wanted_there)
print("done", float(result))
