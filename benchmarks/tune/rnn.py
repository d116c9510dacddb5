"""A small recurrent network on short sequences: many small operations in every step.

To run it, or to tune it:

    python rnn.py [epochs]
    quickfit tune rnn:build
"""

import keras
import numpy as np
import tensorflow as tf
from _epochs import train
from keras import layers

ROWS, LENGTH, FEATURES, CLASSES = 2_048, 20, 8, 4
BATCH = 32


def build():
    """Return the compiled model and its data."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, LENGTH, FEATURES)).astype("float32")
    y = np.argmax(x.mean(axis=1) @ rng.normal(size=(FEATURES, CLASSES)), axis=1)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(2)
    model = keras.Sequential(
        [keras.Input((LENGTH, FEATURES)), layers.GRU(32), layers.Dense(CLASSES)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss)
    return model, data


if __name__ == "__main__":
    train(*build(), epochs=8)
