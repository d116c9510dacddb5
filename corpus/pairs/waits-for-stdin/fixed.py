"""The same script with a new name for every model: nobody has to be asked."""

import tempfile
import time
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(0)
kept = Path(tempfile.mkdtemp()) / time.strftime("model-%Y%m%d-%H%M%S.keras")
x = np.random.default_rng(0).standard_normal((512, 32)).astype("float32")

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(32), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(x, x.sum(axis=1), epochs=2, verbose=2)
model.save(kept)
