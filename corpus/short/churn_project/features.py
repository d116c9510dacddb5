"""Customer activity features (rolling statistics over the last 14 days)."""
import random

import config
import numpy as np

random.seed(config.SEED)
ROLL = 14


def _activity():
    rng = np.random.default_rng(config.SEED)
    return rng.poisson(3, (config.CUSTOMERS, config.DAYS)).tolist()


def _rolling(history):
    means, peaks = [], []
    for d in range(ROLL, len(history)):
        window = history[d - ROLL : d]
        mean = sum(window) / ROLL
        var = sum((w - mean) ** 2 for w in window) / ROLL
        means.append(mean)
        peaks.append(max(window) - var)
    return means + peaks


TABLE = np.array([_rolling(h) for h in _activity()], dtype="float32")
LABELS = (TABLE[:, -1] > np.median(TABLE[:, -1])).astype("float32")


def load():
    return TABLE, LABELS
