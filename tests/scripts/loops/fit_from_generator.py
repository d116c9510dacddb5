"""Fits on a Python generator behind `Dataset.from_generator`.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys

import keras
import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
vocabulary, length = 200, 24


def sentences():
    rng = np.random.default_rng(5)
    for _ in range(n * 16):
        tokens = rng.integers(0, vocabulary, length)
        yield tokens, tokens.max() > vocabulary - 10


signature = (tf.TensorSpec((length,), tf.int64), tf.TensorSpec((), tf.bool))
ds = tf.data.Dataset.from_generator(sentences, output_signature=signature).batch(16).prefetch(2)

inputs = keras.Input((length,), dtype="int64")
hidden = keras.layers.Embedding(vocabulary, 32)(inputs)
hidden = keras.layers.Conv1D(64, 3, activation="relu")(hidden)
hidden = keras.layers.GlobalMaxPooling1D()(hidden)
model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(hidden))
model.compile(optimizer="rmsprop", loss="binary_crossentropy")
model.fit(ds, epochs=2, verbose=0)  # the loop
