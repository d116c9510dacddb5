"""Fits that are fed by PyDatasets: one worker, two threads, two processes."""

import sys
import time

import keras
import numpy as np


class Slow(keras.callbacks.Callback):
    """Makes a fit last long enough to be read a few times."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.03)


class Batches(keras.utils.PyDataset):
    """A number of batches."""

    def __init__(self, number, **how):
        super().__init__(**how)
        self.number = number

    def __len__(self):
        return self.number

    def __getitem__(self, index):  # line: getitem
        x = np.full((8, 4), index, "float32")
        return x, x[:, :1]


def fit(batches, *, epochs=2):
    """Fit a small model; return the number of its epochs."""
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(batches, epochs=epochs, verbose=0, callbacks=[Slow()])  # line: fit
    return len(history.epoch)


if __name__ == "__main__":
    keras.utils.set_random_seed(7)
    print(fit(Batches(20)))
    print(fit(Batches(120, workers=2), epochs=1))
    print(fit(Batches(20, workers=2, use_multiprocessing=True)))
    sys.stdout.flush()
