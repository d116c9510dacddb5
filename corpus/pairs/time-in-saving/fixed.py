"""The model is saved once, and the file is copied for every shop."""

import shutil

import keras
import numpy as np

keras.utils.set_random_seed(0)
words = np.random.default_rng(0).integers(0, 60_000, (4096, 20))
y = (words % 2).mean(axis=1, keepdims=True).astype("float32")

model = keras.Sequential(
    [
        keras.Input((20,), dtype="int32"),
        keras.layers.Embedding(60_000, 64),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(words, y, batch_size=64, epochs=2, verbose=2)

model.save("shop_0.keras")
for shop in range(1, 12):
    shutil.copy("shop_0.keras", f"shop_{shop}.keras")
