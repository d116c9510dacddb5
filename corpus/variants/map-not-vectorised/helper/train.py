# EXPECT cause=map-not-vectorised file=telemetry.py line=21
# WHY telemetry frames are scaled one by one (a handful of cheap ops, 260000 dispatches) before batch(1024)
import time

import keras
from keras import layers, ops

from telemetry import Frames

frames = Frames(260_000)

inp = keras.Input((22,))
h = layers.Dense(40, activation="relu")(inp)
h = layers.Dense(12, activation="relu")(h)
out = layers.Dense(11)(layers.Dense(40, activation="relu")(h))
ae = keras.Model(inp, out)
ae.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mae")

t0 = time.perf_counter()
ae.fit(frames.stream(1024), epochs=1, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
