"""Slowing down, third block: tf.data with prefetch, fed to `train_on_batch`."""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.rand(640, 20).astype("float32")
wanted = np.random.rand(640, 1).astype("float32")
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1)])
model.compile("adam", "mse")

batches = tf.data.Dataset.from_tensor_slices((rows, wanted))
batches = batches.shuffle(buffer_size=1000).batch(32).prefetch(tf.data.AUTOTUNE)

with tf.device("/GPU:0"):
    for _ in range(2):
        for pair in batches:
            some_rows, some_wanted = pair
            result = model.train_on_batch(some_rows, some_wanted)
print("done", float(result))
