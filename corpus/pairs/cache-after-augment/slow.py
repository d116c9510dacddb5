"""Pictures are flipped once, and kept like that for all epochs."""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
images = rng.random((256, 32, 32, 3), dtype="float32")
labels = rng.integers(0, 2, 256)


def flip(image, label):
    return tf.image.random_flip_left_right(image), label


dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.map(flip).cache()
dataset = dataset.shuffle(256).batch(32)
model = keras.Sequential(
    [keras.layers.Conv2D(4, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
)
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(dataset, epochs=3, verbose=2)
