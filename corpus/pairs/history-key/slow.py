"""The training is over, and its accuracy is asked for under a name it does not have."""

import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)
model = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=2, verbose=2)
print(history.history["acc"])
