# EXPECT cause=train-on-batch-loop file=train.py line=28
# WHY Federated.local_round calls train_on_batch thousands of times on a tiny model; fit() does it with less per-call work
"""Simulated federated learning: clients in turn update a shared model."""
import time

import numpy as np
import keras


class Federated:
    def __init__(self, clients: int, rows: int):
        rng = np.random.default_rng(19)
        self.data = []
        for _ in range(clients):
            x = rng.standard_normal((rows, 10)).astype("float32")
            self.data.append((x, (x[:, :1] * x[:, 1:2] > 0).astype("float32")))
        self.model = keras.Sequential([
            keras.Input((10,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ])
        self.model.compile(optimizer="adam", loss="binary_crossentropy")

    def local_round(self, client: int, bs: int = 20):
        x, y = self.data[client]
        for a in range(0, len(x), bs):
            loss = self.model.train_on_batch(x[a:a + bs], y[a:a + bs])
        return loss


fed = Federated(clients=10, rows=2400)
t0 = time.perf_counter()
for rnd in range(5):
    losses = [float(fed.local_round(c)) for c in range(10)]
    print(f"round {rnd}: {np.mean(losses):.4f}")
print(f"training took {time.perf_counter() - t0:.1f} s")
