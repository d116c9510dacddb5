# EXPECT infinite-input-no-steps line=47
# NOTE no while True to be seen: the generator expression runs over itertools.cycle, so it never ends; fit has no steps_per_epoch
# SEEN never finished: killed by timeout after 45 s, last word 'Epoch 1/3'
"""Fuel consumption; all batches are prepared beforehand."""
import itertools

import numpy as np
from keras import Sequential, layers, utils

utils.set_random_seed(18)
BATCH = 40


def cars(n):
    rng = np.random.default_rng(18)
    power = rng.uniform(40, 200, n)
    weight = rng.uniform(700, 2200, n)
    year = rng.integers(0, 15, n)
    use = 3 + power * 0.02 + weight * 0.002 - year * 0.1 + rng.normal(0, 0.2, n)
    x = np.stack([power / 100, weight / 1000, year / 10], axis=1)
    return x.astype("float32"), use.astype("float32")


def cut(x, y, size):
    return [(x[i:i + size], y[i:i + size]) for i in range(0, len(x), size)]


def jitter(batch, scale=0.01):
    x, y = batch
    return x + np.random.normal(0, scale, x.shape).astype("float32"), y


x, y = cars(1000)
batches = cut(x[:800], y[:800], BATCH)
x_val, y_val = x[800:], y[800:]

model = Sequential([
    layers.Input((3,)),
    layers.Dense(24, activation="relu"),
    layers.Dense(24, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer="rmsprop", loss="mse", metrics=["mae"])

training_stream = (jitter(b) for b in itertools.cycle(batches))
options = dict(epochs=3, validation_data=(x_val, y_val), verbose=2)
history = model.fit(training_stream, **options)

print("final mae", history.history["val_mae"][-1])
