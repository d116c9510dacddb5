# EXPECT cause=py-generator-input file=boards.py line=52
# WHY chess positions are expanded from FEN to planes square by square in Python, again for every batch
import time

import keras
from keras import layers

from boards import PositionFeed

feed = PositionFeed(n=2560, batch=64)
model = keras.Sequential([
    layers.Input((8, 8, 12)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.Conv2D(16, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(1, activation="tanh"),
])
model.compile(optimizer="adam", loss="mse")
t0 = time.perf_counter()
model.fit(feed.forever(), steps_per_epoch=len(feed), epochs=22, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
