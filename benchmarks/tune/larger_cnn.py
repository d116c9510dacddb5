"""A CNN with residual blocks on 64×64 images: heavy steps, so that few settings matter.

To run it, or to tune it:

    python larger_cnn.py [epochs]
    quickfit tune larger_cnn:build
"""

import keras
import numpy as np
import tensorflow as tf
from _epochs import train
from keras import layers

IMAGES, SIZE, CLASSES = 1_024, 64, 10
BATCH = 16


def block(x, width, stride):
    """Return a residual block."""
    short = layers.Conv2D(width, 1, strides=stride, use_bias=False)(x)
    x = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.Add()([layers.BatchNormalization()(x), short]))


def build():
    """Return the compiled model and its data."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, IMAGES)
    ramps = rng.normal(size=(CLASSES, SIZE, SIZE, 3))
    x = (ramps[y] + rng.normal(size=(IMAGES, SIZE, SIZE, 3))).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True).prefetch(2)
    inputs = keras.Input((SIZE, SIZE, 3))
    features = layers.Conv2D(24, 3, padding="same")(inputs)
    for width, stride in ((24, 1), (48, 2), (96, 2)):
        features = block(features, width, stride)
    outputs = layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(features))
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss)
    return model, data


if __name__ == "__main__":
    train(*build(), epochs=3)
