"""The order is shuffled, and no batch is taken by it."""

import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y, self.order = x, y, np.arange(len(x))

    def __len__(self):
        return len(self.x) // 32

    def __getitem__(self, at):
        rows = slice(at * 32, at * 32 + 32)
        return self.x[rows], self.y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


model = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(Batches(x, y), epochs=2, verbose=2)
