"""Training never stops early: nothing is called `val_acc`."""

import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)
model = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(monitor="val_acc", mode="max", patience=1)
model.fit(x, y, validation_split=0.2, epochs=3, callbacks=[stop], verbose=2)
