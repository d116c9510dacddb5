"""A callback keeps the last losses only, and sorts those."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((12800, 64), "float32")
y = x.sum(axis=1, keepdims=True)


class MedianLoss(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses = [*self.losses, *(logs["loss"] * k for k in range(100))][-1000:]
        self.median = sorted(self.losses)[len(self.losses) // 2]


model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(x, y, batch_size=128, epochs=7, verbose=2, callbacks=[MedianLoss()])
