"""Autoencoder with large dense layers (about 20 M weights)."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(3)
features = np.random.default_rng(3).normal(size=(8192, 2048)).astype(np.float32)

inp = keras.Input((2048,))
h = keras.layers.Dense(2048, activation="gelu")(inp)
h = keras.layers.Dense(1024, activation="gelu")(h)
code = keras.layers.Dense(128, name="code")(h)
h = keras.layers.Dense(1024, activation="gelu")(code)
h = keras.layers.Dense(2048, activation="gelu")(h)
out = keras.layers.Dense(2048)(h)
autoencoder = keras.Model(inp, out)
autoencoder.compile(optimizer=keras.optimizers.SGD(0.01, momentum=0.9), loss="mse")

dataset = tf.data.Dataset.from_tensor_slices((features, features)).shuffle(2048).batch(128, drop_remainder=True).prefetch(2)
t = time.perf_counter()
autoencoder.fit(dataset, epochs=3, verbose=2)
print(f"training took {time.perf_counter() - t:.1f} s")
