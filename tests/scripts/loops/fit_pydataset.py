"""Fits on a `PyDataset` without workers.
Expect: kind=fit, steps=2*n, input=pydataset, wait=measured
"""

import sys

import keras
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


class Windows(keras.utils.PyDataset):
    """Windows of a long series, and the value that follows each."""

    def __init__(self, series, batch_size, **options):
        super().__init__(**options)
        self.series, self.batch_size = series, batch_size

    def __len__(self):
        return n

    def __getitem__(self, index):
        starts = np.random.randint(0, len(self.series) - 65, self.batch_size)
        rows = np.stack([self.series[start : start + 64] for start in starts])
        return rows, self.series[starts + 64]


series = np.sin(np.arange(5000) / 20.0).astype("float32")
model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(Windows(series, 16), epochs=2, verbose=0)  # the loop
