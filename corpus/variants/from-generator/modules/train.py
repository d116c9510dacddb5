# EXPECT cause=from-generator file=feed.py line=18
# WHY windows are cut one by one in a Python generator inside tf.data
"""Forecast the next value of a sensor from the last 48."""
import time

import keras

from feed import SensorFeed

N_EPOCHS = 3
feed = SensorFeed(length=24000, window=48)
net = keras.Sequential([
    keras.Input((48, 4)),
    keras.layers.Conv1D(16, 5, activation="relu"),
    keras.layers.GlobalMaxPooling1D(),
    keras.layers.Dense(4),
])
net.compile(optimizer="rmsprop", loss="mae")
began = time.time()
net.fit(feed.as_dataset(batch=64), epochs=N_EPOCHS, verbose=2)
print(f"done in {time.time() - began:.1f} s")
