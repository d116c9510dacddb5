"""Trains until the file `enough` is there, at the latest for some hours."""

import time
from pathlib import Path

import keras
import numpy as np


class Waits(keras.callbacks.Callback):
    """Ends the training when it may end."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)
        if Path("enough").exists():
            self.model.stop_training = True


x = np.ones((400, 4), "float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], batch_size=4, epochs=10_000, verbose=0, callbacks=[Waits()])
