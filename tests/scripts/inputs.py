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
    """Twenty batches."""

    def __len__(self):
        return 20

    def __getitem__(self, index):  # line: getitem
        x = np.full((8, 4), index, "float32")
        return x, x[:, :1]


def fit(batches):
    """Fit a small model for two epochs; return the number of batches it saw."""
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(batches, epochs=2, verbose=0, callbacks=[Slow()])  # line: fit
    return len(history.epoch)


if __name__ == "__main__":
    keras.utils.set_random_seed(7)
    print(fit(Batches()))
    print(fit(Batches(workers=2)))
    print(fit(Batches(workers=2, use_multiprocessing=True)))
    sys.stdout.flush()
