"""Every epoch has an order of its own."""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)
model = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
ds = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(256)
model.fit(ds.batch(32), epochs=3, verbose=2)
