"""The scale is never trained: Keras does not see it."""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)


class Scale(keras.layers.Layer):
    def build(self, shape):
        self.scale = tf.Variable(tf.ones(shape[-1]))

    def call(self, inputs):
        return inputs * self.scale


model = keras.Sequential([Scale(), keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
model.fit(x, y, epochs=2, verbose=2)
