"""Fits a model with a `train_step` of its own.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys

import keras
import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


class Regularised(keras.Model):
    """Adds a penalty on the slope to the loss."""

    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(1600, activation="tanh")
        self.out = keras.layers.Dense(1)
        self.seen = keras.metrics.Mean(name="loss")

    def call(self, x):
        return self.out(self.hidden(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            with tf.GradientTape() as slope_tape:
                slope_tape.watch(x)
                predicted = self(x, training=True)
            slope = slope_tape.gradient(predicted, x)
            loss = tf.reduce_mean((y - predicted) ** 2) + 0.01 * tf.reduce_mean(slope**2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        self.seen.update_state(loss)
        return {"loss": self.seen.result()}


x = np.random.default_rng(0).normal(size=(n * 32, 24)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(1024).batch(32)
model = Regularised()
model.compile(optimizer="adam")
model.fit(ds, epochs=2, verbose=0)  # the loop
