"""After the training the whole model is saved twelve times, once for every shop."""

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

for shop in range(12):
    model.save(f"shop_{shop}.keras")
