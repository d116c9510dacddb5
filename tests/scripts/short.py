"""Fits for forty steps, each of them held up by a callback."""

import time

import keras
import numpy as np


class Slow(keras.callbacks.Callback):
    """Takes most of the step."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.03)  # line: slow


x = np.ones((160, 4), "float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], batch_size=4, verbose=0, callbacks=[Slow()])  # line: fit
print("trained")
