"""The same steps, 32 of them in one call of the compiled function."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(32768, 16)).astype("float32")
y = x.sum(axis=1, keepdims=True)

model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", loss="mse", steps_per_execution=32)
model.fit(x, y, batch_size=32, epochs=10, verbose=2)
