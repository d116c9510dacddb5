"""`train_on_batch` on slices, with the same statistics of every batch."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.random((20000, 64), "float32")
y = x.sum(axis=1, keepdims=True)
layers = [keras.layers.Dense(128, activation="relu") for _ in range(2)]
model = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(1)])
model.compile("adam", loss="mse")
for step in range(5000):
    rows = rng.integers(0, len(x), 64)
    batch = (x[rows] - x[rows].mean(axis=0)) / (x[rows].std(axis=0) + 1e-6)
    loss = model.train_on_batch(batch, y[rows])
    if step % 500 == 0:
        print(step, loss)
