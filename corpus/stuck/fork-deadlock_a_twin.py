# EXPECT moving
# NOTE the same forked workers without the thread that holds the lock; they need 5 s per batch but deliver.
import os
import tempfile
import threading
import time

import numpy as np
from PIL import Image
import keras
from keras import layers

index_lock = threading.Lock()
usage = {}


def dump_usage(path):
    """Writes the usage statistics, meant for the dashboard."""
    with index_lock:
        with open(path, "w") as fh:
            for k, v in list(usage.items()):
                fh.write("%s %d\n" % (k, v))


class PetImages(keras.utils.PyDataset):
    def __init__(self, paths, labels, batch_size=4, **kw):
        super().__init__(**kw)
        self.paths, self.labels, self.bs = paths, labels, batch_size

    def __len__(self):
        return len(self.paths) // self.bs

    def __getitem__(self, i):
        sel = slice(i * self.bs, (i + 1) * self.bs)
        x = np.stack([self.read(p) for p in self.paths[sel]])
        return x, self.labels[sel]

    def read(self, p):
        with index_lock:
            usage[p] = usage.get(p, 0) + 1
        time.sleep(1.25)
        with Image.open(p) as im:
            return np.asarray(im.resize((48, 48)), dtype="float32") / 255


def make_pets(folder, n):
    rng = np.random.default_rng(7)
    paths = []
    for i in range(n):
        p = os.path.join(folder, "pet_%03d.jpg" % i)
        Image.fromarray(rng.integers(0, 255, (60, 60, 3), dtype=np.uint8)).save(p)
        paths.append(p)
    return paths, np.arange(n) % 2


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    paths, labels = make_pets(folder, 28)

    model = keras.Sequential([
        layers.Input((48, 48, 3)),
        layers.Conv2D(8, 3, strides=2, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy")
    dump_usage(os.path.join(folder, "usage.txt"))

    train = PetImages(paths, labels, workers=2, use_multiprocessing=True, max_queue_size=4)
    model.fit(train, epochs=1)
