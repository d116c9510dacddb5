"""Trains with `train_on_batch` on batches it cuts itself.
Expect: kind=train_on_batch, steps=3*n, input=python
"""

import sys

import numpy as np
from tensorflow.keras import layers, models

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
batch_size, epochs = 32, 3
X = np.random.default_rng(0).random((n * batch_size, 50)).astype("float32")
Y = X @ np.ones((50, 1), "float32")

model = models.Sequential()
model.add(layers.Dense(256, activation="relu"))
model.add(layers.Dense(1))
model.compile(loss="mse", optimizer="adam", metrics=["mae"])

for epoch in range(epochs):
    order = np.random.permutation(len(X))
    for i in range(0, len(X), batch_size):
        chosen = order[i : i + batch_size]
        loss, mae = model.train_on_batch(X[chosen], Y[chosen])  # the loop
    print(f"epoch {epoch}: loss {loss:.4f} mae {mae:.4f}")
