"""Fits on a `PyDataset` whose batches two processes make.
Expect: kind=fit, steps=2*n, input=pydataset, wait=measured
"""

import sys

import keras
import numpy as np


class Noise(keras.utils.PyDataset):
    """Batches that take some arithmetic to make."""

    def __init__(self, batches, **kwargs):
        super().__init__(**kwargs)
        self.batches = batches

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        x = rng.normal(size=(16, 64)).astype("float32")
        return x, np.abs(np.fft.rfft(x)).max(axis=1)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    data = Noise(n, workers=2, use_multiprocessing=True, max_queue_size=8)
    model.fit(data, epochs=2, verbose=0)  # the loop


if __name__ == "__main__":
    main()
