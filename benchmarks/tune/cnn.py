"""A small CNN on small images, with batches made before: the step is most of the time.

To run it, or to tune it:

    python cnn.py [epochs]
    quickfit tune cnn:build
"""

import keras
import numpy as np
import tensorflow as tf
from _epochs import train
from keras import layers

IMAGES, SIZE, CLASSES = 4_096, 32, 10
BATCH = 32


def build():
    """Return the compiled model and its data."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, IMAGES)
    # A class is a direction of light: something that can be learned.
    ramps = rng.normal(size=(CLASSES, SIZE, SIZE, 3))
    x = (ramps[y] + rng.normal(size=(IMAGES, SIZE, SIZE, 3))).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True).prefetch(2)
    model = keras.Sequential([keras.Input((SIZE, SIZE, 3))])
    for width in (16, 32, 64):
        model.add(layers.Conv2D(width, 3, padding="same", use_bias=False))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())
        model.add(layers.MaxPooling2D())
    model.add(layers.Flatten())
    model.add(layers.Dense(CLASSES))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss)
    return model, data


if __name__ == "__main__":
    train(*build(), epochs=5)
