"""Watches itself with quickfit.Watch, as a callback and around a loop."""

import time

import keras
import numpy as np
import tensorflow as tf

x = np.random.default_rng(0).random((320, 8), "float32")
y = x.sum(axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 2, b)).batch(16)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)], name="small")
model.compile("sgd", "mse")

import quickfit


class Users(keras.callbacks.Callback):
    """A callback of the script."""

    def on_train_batch_end(self, batch, logs=None):
        """Take long enough for the pipeline to be looked at."""
        time.sleep(0.02)


watch = quickfit.Watch()
model.fit(dataset, epochs=3, verbose=0, callbacks=[Users(), watch])  # fit
print("fitted")


@tf.function
def step(a, b):
    """Train on one batch."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    weights = model.trainable_variables
    model.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))


with quickfit.Watch():
    for a, b in dataset.repeat(2):  # loop
        step(a, b)
print("looped")
model.fit(dataset, epochs=1, verbose=0)
print("ended")
