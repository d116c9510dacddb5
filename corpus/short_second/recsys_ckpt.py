"""Two-tower recommender on implicit feedback."""
import os
import tempfile

import numpy as np
import keras
from keras import layers, ops

N_USERS, N_ITEMS, DIM = 120_000, 80_000, 64
N_ROWS = 40_000
BATCH = 1024


class TwoTower(keras.Model):
    def __init__(self):
        super().__init__()
        self.users = layers.Embedding(N_USERS, DIM)
        self.items = layers.Embedding(N_ITEMS, DIM)
        self.user_mlp = layers.Dense(DIM, activation="relu")
        self.item_mlp = layers.Dense(DIM, activation="relu")

    def call(self, inputs):
        u, i = inputs
        u = self.user_mlp(self.users(u))
        i = self.item_mlp(self.items(i))
        return ops.sigmoid(ops.sum(u * i, axis=-1, keepdims=True))


def main():
    rng = np.random.default_rng(0)
    users = rng.integers(0, N_USERS, N_ROWS)
    items = rng.integers(0, N_ITEMS, N_ROWS)
    clicks = rng.integers(0, 2, N_ROWS).astype("float32")[:, None]

    out = tempfile.mkdtemp(prefix="twotower_")
    model = TwoTower()
    model.compile(optimizer=keras.optimizers.Adagrad(0.05), loss="binary_crossentropy")
    callbacks = [
        keras.callbacks.ModelCheckpoint(
            os.path.join(out, "last.keras"), save_freq=2, verbose=0),
        keras.callbacks.TerminateOnNaN(),
    ]
    model.fit((users, items), clicks, batch_size=BATCH, epochs=1, callbacks=callbacks, verbose=2)


if __name__ == "__main__":
    main()
