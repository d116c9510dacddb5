"""Finds the batch size, and asks whether 16 bits pay, before a long training.

The same from a terminal, with all settings: `quickfit tune tuning:build`.
"""

import keras
import numpy as np

from quickfit.tuning import advise_precision, find_batch_size


def build():
    """Return a compiled model and its data."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2048, 32)).astype("float32")
    y = rng.integers(0, 4, 2048)
    model = keras.Sequential(
        [keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(4)]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, (x, y)


if __name__ == "__main__":  # the sizes are tried in processes of their own
    print(find_batch_size("tuning:build", sizes=[32, 128]))
    model, _ = build()
    print(advise_precision(model))  # from the hardware alone; give it data to measure
