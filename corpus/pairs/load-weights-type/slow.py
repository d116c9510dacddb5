"""The weights are in a file that Keras 3 does not read."""

import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)
model = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=1, verbose=2)
model.save_weights("best.weights.h5")
model.load_weights("best.ckpt")
