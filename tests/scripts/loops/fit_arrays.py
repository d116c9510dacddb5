"""Fits on NumPy arrays, with validation data and a callback of its own.
Expect: kind=fit, steps=3*n, input=arrays
"""

import sys

import keras
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
rng = np.random.default_rng(0)
x = rng.normal(size=(n * 32, 64)).astype("float32")
y = (x[:, :8].sum(axis=1) > 0).astype("float32")


class Best(keras.callbacks.Callback):
    """Keeps the lowest loss."""

    best = float("inf")

    def on_train_batch_end(self, batch, logs=None):
        self.best = min(self.best, logs["loss"])

    def on_epoch_end(self, epoch, logs=None):  # line: epoch hook
        print("epoch", epoch, "best", self.best)


model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(256, "relu"),
        keras.layers.Dense(256, "relu"),
        keras.layers.Dense(1, "sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
history = model.fit(  # the loop
    x,
    y,
    batch_size=32,
    epochs=3,
    verbose=0,
    validation_data=(x[:160], y[:160]),
    callbacks=[Best(), keras.callbacks.ReduceLROnPlateau(patience=1)],
)
