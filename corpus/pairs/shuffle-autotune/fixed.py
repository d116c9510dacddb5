"""The shuffle has a buffer of its own."""

import keras
import numpy as np
import tensorflow as tf


def make_dataset(images, labels, batch_size, buffer_size=tf.data.AUTOTUNE):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shuffle(1000)
    return dataset.batch(batch_size).prefetch(buffer_size)


rng = np.random.default_rng(0)
images = rng.random((256, 8), dtype="float32")
labels = rng.integers(0, 2, 256)
model = keras.Sequential([keras.layers.Dense(2)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(make_dataset(images, labels, 32), epochs=2, verbose=2)
