#!/usr/bin/env python
"""Train on readings that live behind a (pretend) REST store."""
import argparse
import math
import time

import keras
import numpy as np


class Store:
    """Stands for a client of the readings service."""

    def __init__(self, n):
        self.n = n
        self.rng = np.random.default_rng(11)

    def fetch(self, first, count):
        time.sleep(0.035)  # round trip
        t = np.arange(first, first + count)[:, None] + np.arange(64)
        return np.sin(t / 9.0).astype("float32")[..., None], (first + np.arange(count)) % 3


class Readings(keras.utils.PyDataset):
    def __init__(self, store, batch, **kw):
        super().__init__(**kw)
        self.store, self.batch = store, batch

    def __len__(self):
        return math.ceil(self.store.n / self.batch)

    def __getitem__(self, i):
        parts = [self.store.fetch(i * self.batch + k, 8) for k in range(0, self.batch, 8)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=2)
    a = ap.parse_args()
    net = keras.Sequential([
        keras.layers.Input((64, 1)),
        keras.layers.Conv1D(16, 5, activation="relu"),
        keras.layers.Conv1D(16, 5, activation="relu"),
        keras.layers.GlobalMaxPooling1D(),
        keras.layers.Dense(3, activation="softmax"),
    ])
    net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    net.fit(Readings(Store(1600), a.batch), epochs=a.epochs, verbose=2)


if __name__ == "__main__":
    main()
