"""`fit` gets what it knows; how batches are read is said to the data."""

import keras
import numpy as np


class Batches(keras.utils.PyDataset):
    """Random images, made when they are asked for."""

    def __init__(self, count, **kwargs):
        super().__init__(**kwargs)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        return rng.random((16, 8), dtype="float32"), rng.integers(0, 2, 16)


model = keras.Sequential([keras.layers.Dense(2)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(Batches(20), epochs=2, verbose=2)
