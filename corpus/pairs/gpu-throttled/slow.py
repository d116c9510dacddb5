"""A long training on a GPU: on a card that gets hot, its kernels get slower."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((4096, 512), "float32")
y = x.sum(axis=1, keepdims=True)

model = keras.Sequential(
    [
        keras.Input((512,)),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(x, y, batch_size=128, epochs=20, verbose=2)
