"""The script asks before it writes over an old model, and nobody is there to answer."""

import os
import signal
import tempfile
from pathlib import Path

import keras
import numpy as np

signal.alarm(75)  # so that this example ends
os.dup2(os.pipe()[0], 0)  # nobody sits at the keyboard

keras.utils.set_random_seed(0)
kept = Path(tempfile.mkdtemp()) / "model.keras"
kept.write_text("an older model")
x = np.random.default_rng(0).standard_normal((512, 32)).astype("float32")

if kept.exists() and input(f"overwrite {kept}? ") != "y":
    raise SystemExit("kept the old model")

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(32), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(x, x.sum(axis=1), epochs=2, verbose=2)
model.save(kept)
