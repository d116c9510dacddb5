# EXPECT cause=shuffle-after-decode file=shards.py line=42
# WHY 3600 decoded pictures must be in the buffer before the first step; shuffle the encoded records
import time

import tensorflow as tf

import shards

model = tf.keras.Sequential([
    tf.keras.Input((128, 128, 1)),
    tf.keras.layers.Conv2D(8, 7, strides=4, activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(1),
])
model.compile("adam", "mse")
t0 = time.perf_counter()
model.fit(shards.training(shards.write(3600)), steps_per_epoch=40, epochs=2, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
