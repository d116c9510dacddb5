"""Fits with five batches in each call of the train function.
Expect: kind=fit, steps=2*n//5, input=tf.data, wait=measured
"""

import sys

import keras
import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.random.default_rng(0).normal(size=(512, 48)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :4])).repeat().shuffle(512).batch(32)

model = keras.Sequential(
    [
        keras.layers.Dense(400, activation="relu"),
        keras.layers.Dense(400, activation="relu"),
        keras.layers.Dense(4),
    ]
)
model.compile(optimizer="adam", loss="mse", steps_per_execution=5)
model.fit(ds, steps_per_epoch=n, epochs=2, verbose=0)  # the loop
