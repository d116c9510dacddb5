"""Every epoch takes all the batches that the PyDataset has."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size):
        super().__init__()
        self.x, self.y, self.batch_size = x, y, batch_size

    def __len__(self):
        return len(self.x) // self.batch_size

    def __getitem__(self, index):
        some = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.x[some], self.y[some]


batches = Batches(rng.random((3200, 256), "float32"), rng.integers(0, 10, 3200), 32)
model = keras.Sequential(
    [
        keras.Input((256,)),
        keras.layers.Dense(512, activation="relu"),
        keras.layers.Dense(512, activation="relu"),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(batches, epochs=20, verbose=2)
