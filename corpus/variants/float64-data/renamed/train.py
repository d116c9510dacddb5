# EXPECT cause=float64-data file=train.py line=8
# WHY floatx float64: all the arithmetic is done in double precision
import time

import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
x = np.random.default_rng(4).normal(size=(6400, 512))
y = x[:, :4].sum(axis=1, keepdims=True)

model = tf.keras.Sequential([
    tf.keras.Input((512,)),
    tf.keras.layers.Dense(768, activation="relu"),
    tf.keras.layers.Dense(768, activation="relu"),
    tf.keras.layers.Dense(1),
])
model.compile("adam", "mse")
t0 = time.perf_counter()
model.fit(x, y, batch_size=128, epochs=8, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
