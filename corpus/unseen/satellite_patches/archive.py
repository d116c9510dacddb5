import os

import keras
import numpy as np


def write_archive(folder, n, size, bands):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, n)
    x = rng.random((n, size, size, bands), dtype="float32") * 0.5
    x[np.arange(n), :, :, y % bands] += 0.3
    np.save(os.path.join(folder, "x.npy"), (x * 255).clip(0, 255).astype("uint8"))
    np.save(os.path.join(folder, "y.npy"), y)


class PatchSequence(keras.utils.PyDataset):
    def __init__(self, folder, batch_size, **kw):
        super().__init__(**kw)
        self.x = np.load(os.path.join(folder, "x.npy"), mmap_mode="r")
        self.y = np.load(os.path.join(folder, "y.npy"))
        self.batch_size = batch_size
        self.rng = np.random.default_rng(1)
        self.order = np.arange(len(self.y))

    def __len__(self):
        return -(-len(self.y) // self.batch_size)

    def __getitem__(self, i):
        idx = np.sort(self.order[i * self.batch_size:(i + 1) * self.batch_size])
        x = self.x[idx].astype("float32") / 255.0
        if self.rng.random() < 0.5:
            x = x[:, :, ::-1]
        return x, self.y[idx]

    def on_epoch_end(self):
        self.rng.shuffle(self.order)
