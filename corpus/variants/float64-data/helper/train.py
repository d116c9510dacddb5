# EXPECT cause=float64-data file=numerics.py line=8
# WHY numerics.setup() sets the float64 dtype policy, so every convolution runs in double precision
"""Arrhythmia detector, 4-lead ECG."""
import time

import numpy as np
from tensorflow import keras

import numerics
from ecg_model import build_ecg_net

numerics.setup(seed=3)
rng = np.random.default_rng(3)
ecg = rng.standard_normal((1200, 120, 4))
rhythm = rng.integers(0, 5, 1200)

model = build_ecg_net(120, 4, 5)
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
t0 = time.perf_counter()
model.fit(ecg, rhythm, batch_size=50, epochs=7, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
