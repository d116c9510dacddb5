"""The train step is compiled, as Keras does by itself."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((4096, 32), "float32")
y = x.sum(axis=1, keepdims=True)

model = keras.Sequential(
    [
        keras.Input((32,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, batch_size=32, epochs=4, verbose=2)
