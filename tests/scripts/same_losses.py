"""Seeded fits on arrays, tf.data and a generator; prints every loss in hex, and what random
numbers come next."""

import random
import time

import keras
import numpy as np
import tensorflow as tf
from pipelines import chain

keras.utils.set_random_seed(7)
features = np.random.default_rng(1).normal(size=(192, 12)).astype("float32")
labels = features.sum(axis=1, keepdims=True)


class Slow(keras.callbacks.Callback):
    """Makes a fit last long enough to be read a few times."""

    def on_train_batch_end(self, batch, logs=None):  # line: Slow
        time.sleep(0.03)


def batches():  # line: batches
    """Yield batches without end."""
    while True:
        chosen = np.random.randint(0, len(features), 8)
        yield features[chosen], labels[chosen]


def model():
    """Return a small model with dropout."""
    layers = [keras.layers.Dense(16, "relu"), keras.layers.Dropout(0.4), keras.layers.Dense(1)]
    small = keras.Sequential(layers)
    small.compile("adam", "mse")  # line: compile
    return small


def show(name, history):
    """Print every number of a history to the last bit."""
    for key, values in history.history.items():
        print(name, key, *(float(value).hex() for value in values))


slow = {"verbose": 0, "callbacks": [Slow()]}
held_out = (features[:32], labels[:32])
show(
    "arrays",
    model().fit(  # line: arrays
        features, labels, batch_size=8, epochs=2, validation_data=held_out, **slow
    ),
)
pipeline = chain(features, labels)
with tf.device("/GPU:0"):  # line: device
    print("a GPU was asked for")
show("tf.data", model().fit(pipeline, epochs=2, **slow))  # line: tf.data
# Later it would depend on how far the generator was read ahead.
numpy_next = np.random.random()
show("generator", model().fit(batches(), steps_per_epoch=24, epochs=2, **slow))  # line: generator
print(random.random().hex(), numpy_next.hex(), float(tf.random.normal(())).hex())
