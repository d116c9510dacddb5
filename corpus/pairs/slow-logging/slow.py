"""A callback prints the weights it watches after every batch, and flushes each line."""

import sys

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((16384, 64), "float32")
y = x.sum(axis=1, keepdims=True)


class Report(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.watched = self.model.get_weights()[0]

    def on_train_batch_end(self, batch, logs=None):
        print(f"batch {batch}: {logs} {self.watched.tolist()}", file=sys.stderr, flush=True)


model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(x, y, batch_size=64, epochs=4, verbose=2, callbacks=[Report()])
