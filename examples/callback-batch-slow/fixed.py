"""The same log, written every fiftieth batch."""

import json

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((8192, 64), "float32")
y = x.sum(axis=1, keepdims=True)


class LossLog(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])
        if batch % 50:
            return
        smooth = [sum(self.losses[i : i + 20]) / 20 for i in range(len(self.losses[-400:]))]
        self.text = json.dumps({"batch": batch, "smooth": smooth})


model = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", loss="mse")
model.fit(x, y, batch_size=32, epochs=12, verbose=2, callbacks=[LossLog()])
