"""The same checkpoint, written every fiftieth batch."""

import tempfile

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x, y = rng.random((8192, 512), "float32"), rng.integers(0, 10, 8192)

model = keras.Sequential(
    [
        keras.Input((512,)),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))

with tempfile.TemporaryDirectory() as folder:
    keep = keras.callbacks.ModelCheckpoint(folder + "/model.keras", save_freq=50)
    model.fit(x, y, batch_size=256, epochs=6, verbose=2, callbacks=[keep])
