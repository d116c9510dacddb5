"""A tiny network on small rows: a step has hardly any work, so Python's share of it is large.

To run it, or to tune it:

    python tiny_mlp.py [epochs]
    quickfit tune tiny_mlp:build
"""

import keras
import numpy as np
import tensorflow as tf
from _epochs import train
from keras import layers

ROWS, FEATURES, CLASSES = 16_384, 16, 4
BATCH = 16


def build():
    """Return the compiled model and its data."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, FEATURES)).astype("float32")
    y = np.argmax(x @ rng.normal(size=(FEATURES, CLASSES)), axis=1)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(2)
    model = keras.Sequential(
        [keras.Input((FEATURES,)), layers.Dense(32, activation="relu"), layers.Dense(CLASSES)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss)
    return model, data


if __name__ == "__main__":
    train(*build(), epochs=8)
