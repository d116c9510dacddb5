"""Fits on an endless dataset with `steps_per_epoch`, and saves after each epoch.
Expect: kind=fit, steps=3*n, input=tf.data, wait=measured
"""

import os
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.random.default_rng(0).normal(size=(500, 20, 8)).astype("float32")
y = x[:, -1, :1]

train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(500).repeat().batch(32)
valid = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).take(5)

model = keras.Sequential([keras.Input((20, 8)), keras.layers.GRU(16), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
with tempfile.TemporaryDirectory() as folder:
    saver = keras.callbacks.ModelCheckpoint(os.path.join(folder, "best.keras"))
    model.fit(  # the loop
        train,
        epochs=3,
        steps_per_epoch=n,
        validation_data=valid,
        callbacks=[saver],
        verbose=0,
    )
