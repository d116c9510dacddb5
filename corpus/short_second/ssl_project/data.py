import math
import random

import numpy as np
from keras.utils import PyDataset


def make_images(n, size=80, classes=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    base = rng.random((classes, size, size, 3), dtype="float32")
    x = base[y] * 0.7 + rng.random((n, size, size, 3), dtype="float32") * 0.3
    return x, y


def film_grain(img, amount):
    out = img.copy()
    h, w, _ = out.shape
    for i in range(h):
        for j in range(w):
            g = random.gauss(0.0, amount)
            if random.random() < 0.3:
                out[i, j] = out[i, j] + g
    return out


def jitter(img):
    img = film_grain(img, 0.05)
    if random.random() < 0.5:
        img = img[:, ::-1]
    k = 0.8 + 0.4 * random.random()
    return np.clip(img * k, 0, 1)


class LabeledBatches(PyDataset):
    def __init__(self, x, y, batch_size, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs = x, y, batch_size

    def __len__(self):
        return math.ceil(len(self.x) / self.bs)

    def __getitem__(self, i):
        s = slice(i * self.bs, (i + 1) * self.bs)
        return np.stack([jitter(im) for im in self.x[s]]), self.y[s]
