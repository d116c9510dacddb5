"""The normalisation has seen the data."""

import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)
norm = keras.layers.Normalization()
norm.adapt(x)
model = keras.Sequential([norm, keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
model.fit(x, y, epochs=2, verbose=2)
