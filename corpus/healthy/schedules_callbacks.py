"""Learning-rate plateau, early stopping and CSV log around a compute-bound fit."""
import os
import tempfile
import time

import numpy as np
import keras
from keras import callbacks, layers

rng = np.random.default_rng(8)
x = rng.random((3000, 32, 32, 3), dtype=np.float32)
y = (x[:, :16].mean((1, 2, 3)) > x[:, 16:].mean((1, 2, 3))).astype("float32")[:, None]

model = keras.Sequential([
    layers.Input((32, 32, 3)),
    layers.Conv2D(32, 3, activation="relu"), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
    layers.Dense(64, activation="relu"), layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(1e-3), "binary_crossentropy", metrics=["accuracy"])
cbs = [
    callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, min_lr=1e-5),
    callbacks.EarlyStopping(monitor="val_loss", patience=20, restore_best_weights=True),
    callbacks.CSVLogger(os.path.join(tempfile.mkdtemp(), "log.csv")),
]
t0 = time.perf_counter()
model.fit(x[:2600], y[:2600], validation_data=(x[2600:], y[2600:]), batch_size=64, epochs=7, callbacks=cbs, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
