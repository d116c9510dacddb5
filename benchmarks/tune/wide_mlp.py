"""A wide network on rows: matrix products are all of a step, so that little can be gained.

To run it, or to tune it:

    python wide_mlp.py [epochs]
    quickfit tune wide_mlp:build
"""

import keras
import numpy as np
import tensorflow as tf
from _epochs import train
from keras import layers

ROWS, FEATURES, CLASSES = 16_384, 128, 10
BATCH = 128


def build():
    """Return the compiled model and its data."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, FEATURES)).astype("float32")
    y = np.argmax(x @ rng.normal(size=(FEATURES, CLASSES)), axis=1)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(2)
    hidden = [layers.Dense(512, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((FEATURES,)), *hidden, layers.Dense(CLASSES)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss)
    return model, data


if __name__ == "__main__":
    train(*build(), epochs=6)
