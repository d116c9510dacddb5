"""Elements are shuffled, not batches."""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)
model = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).batch(32)
model.fit(ds, epochs=3, verbose=2)
