"""Fits without end, then writes a file that must not be written by a run that was stopped."""

import os
import sys
import time
from pathlib import Path

import keras
import numpy as np


class Says(keras.callbacks.Callback):
    """Says when the second step has ended."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)
        if batch == 2:
            print(f"training pid={os.getpid()}", flush=True)


x = np.ones((4000, 4), "float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse", steps_per_execution=int(sys.argv[1]) if sys.argv[1:] else 1)
try:
    model.fit(x, x[:, :1], batch_size=4, epochs=1000, verbose=0, callbacks=[Says()])
finally:
    Path("after").write_text("the loop has ended")
