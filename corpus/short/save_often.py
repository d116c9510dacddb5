"""Recommender (matrix factorisation + MLP) with a small Trainer class."""
import os
import shutil
import tempfile

import keras
import numpy as np
from keras import layers


class Recommender:
    def __init__(self, users=110000, items=40000, dim=64):
        u = layers.Input((1,), dtype="int32", name="user")
        i = layers.Input((1,), dtype="int32", name="item")
        eu = layers.Flatten()(layers.Embedding(users, dim)(u))
        ei = layers.Flatten()(layers.Embedding(items, dim)(i))
        h = layers.Concatenate()([eu, ei, eu * ei])
        h = layers.Dense(64, activation="relu")(h)
        self.users, self.items = users, items
        self.model = keras.Model([u, i], layers.Dense(1)(h))
        self.model.compile(optimizer="sgd", loss="mse")
        self.workdir = tempfile.mkdtemp(prefix="recsys_")

    def ratings(self, n):
        rng = np.random.default_rng(0)
        u = rng.integers(0, self.users, (n, 1)).astype("int32")
        i = rng.integers(0, self.items, (n, 1)).astype("int32")
        return [u, i], rng.random((n, 1), dtype=np.float32) * 5

    def train(self, n=30 * 1024, batch=512):
        x, y = self.ratings(n)
        # never lose work again if the machine goes down
        backup = keras.callbacks.ModelCheckpoint(os.path.join(self.workdir, "backup.keras"), save_freq=1)
        self.model.fit(x, y, batch_size=batch, epochs=1, callbacks=[backup], verbose=2)

    def cleanup(self):
        shutil.rmtree(self.workdir, ignore_errors=True)


if __name__ == "__main__":
    rec = Recommender()
    rec.train()
    rec.cleanup()
