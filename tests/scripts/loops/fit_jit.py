"""Fits with XLA: `jit_compile=True`.
Expect: kind=fit, steps=2*n, input=arrays
"""

import sys

import keras
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
keras.utils.set_random_seed(1)
x = np.random.rand(n * 32, 12, 16).astype("float32")
y = np.random.randint(0, 3, len(x))

inputs = keras.Input((12, 16))
z = keras.layers.Dense(32, activation="relu")(inputs)
z = keras.layers.LayerNormalization()(z)
z = keras.layers.GlobalAveragePooling1D()(z)
model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(z))
model.compile("adam", "sparse_categorical_crossentropy", jit_compile=True)
model.fit(x, y, batch_size=32, epochs=2, verbose=0)  # the loop
