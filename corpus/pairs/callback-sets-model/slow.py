"""The callback sets its model, and the script ends."""

import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)


class Sample(keras.callbacks.Callback):
    def __init__(self, model):
        super().__init__()
        self.model = model


model = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=2, callbacks=[Sample(model)], verbose=2)
