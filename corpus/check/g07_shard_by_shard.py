# EXPECT none
# NOTE judgement call: fit in a loop over *different* data (monthly shards which do not fit into memory together), one pass per shard; slow-ish but meant
# SEEN ran to the end (rc 0), no complaint of its own
"""Incremental training on monthly shards."""
import os
import tempfile

import numpy as np
import keras
from keras import layers

MONTHS = ["2023-01", "2023-02", "2023-03", "2023-04"]
DRIFT = 0.05


def write_shards(folder):
    for i, month in enumerate(MONTHS):
        rng = np.random.default_rng(i)
        x = rng.normal(size=(600, 6)).astype("float32")
        y = (x.sum(axis=1) + DRIFT * i > 0).astype("float32")
        np.savez_compressed(os.path.join(folder, f"{month}.npz"), x=x, y=y)


def load_shard(folder, month):
    with np.load(os.path.join(folder, f"{month}.npz")) as z:
        return z["x"], z["y"]


def build():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(32, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss="binary_crossentropy",
        metrics=["accuracy"],
    )
    return model


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        write_shards(folder)
        *train_months, test_month = MONTHS
        model = build()
        x_test, y_test = load_shard(folder, test_month)
        for month in train_months:
            x, y = load_shard(folder, month)
            model.fit(x, y, batch_size=32, epochs=3, verbose=0)
            print(month, "trained on", len(x), "rows")
        print("test", model.evaluate(x_test, y_test, verbose=0, return_dict=True))
        model.save(os.path.join(folder, "model.keras"))
