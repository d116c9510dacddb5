"""A Python generator that only slices arrays: far quicker than the step it feeds."""
import time

import numpy as np
from tensorflow import keras

rng = np.random.default_rng(12)
series = rng.normal(size=(200_000, 16)).astype("float32").cumsum(0) * 0.01
WINDOW, BATCH = 64, 128


def windows():
    while True:
        starts = rng.integers(0, len(series) - WINDOW - 1, BATCH)
        idx = starts[:, None] + np.arange(WINDOW)
        yield series[idx], series[starts + WINDOW]


model = keras.Sequential([
    keras.Input((WINDOW, 16)),
    keras.layers.Conv1D(128, 5, padding="causal", activation="relu"),
    keras.layers.Conv1D(256, 5, padding="causal", dilation_rate=2, activation="relu"),
    keras.layers.Conv1D(256, 5, padding="causal", dilation_rate=4, activation="relu"),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(16),
])
model.compile("adam", "mae")
t0 = time.perf_counter()
model.fit(windows(), steps_per_epoch=25, epochs=3, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
