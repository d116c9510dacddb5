"""Fits on a `PyDataset` whose batches two threads make.
Expect: kind=fit, steps=2*n, input=pydataset, wait=measured
"""

import math
import sys

import numpy as np
from keras import Sequential, layers
from keras.utils import PyDataset

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


class Pictures(PyDataset):
    def __init__(self, pictures, size, **kwargs):
        super().__init__(**kwargs)
        self.pictures, self.size = pictures, size

    def __len__(self):
        return math.ceil(len(self.pictures) / self.size)

    def __getitem__(self, idx):
        batch = self.pictures[idx * self.size : (idx + 1) * self.size]
        batch = np.sqrt(batch.astype("float32") / 255.0)
        return batch, batch.mean(axis=(1, 2, 3)) > 0.6


pictures = np.random.default_rng(0).integers(0, 255, (n * 8, 24, 24, 1), dtype="uint8")
data = Pictures(pictures, 8, workers=2, use_multiprocessing=False, max_queue_size=4)
model = Sequential([layers.Conv2D(8, 3), layers.GlobalMaxPooling2D(), layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(data, epochs=2, shuffle=True, verbose=0)  # the loop
