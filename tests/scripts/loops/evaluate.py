"""Evaluates a model on a dataset, twice; nothing is trained.
Expect: kind=evaluate, steps=2*n, input=tf.data, trains=no
"""

import sys

import keras
import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.random.default_rng(0).normal(size=(n * 32, 60)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, 0] > 0)).batch(32).prefetch(1)

model = keras.Sequential([keras.layers.Dense(300, "relu"), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
for name in ("before", "after"):
    loss, accuracy = model.evaluate(ds, verbose=0)  # the loop
    print(name, round(loss, 3), round(accuracy, 3))
