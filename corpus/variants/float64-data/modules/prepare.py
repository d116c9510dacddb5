import numpy as np


def table(rows, cols):
    raw = np.random.default_rng(5).normal(loc=3.0, size=(rows, cols))
    raw = (raw - raw.mean(0)) / raw.std(0)
    return raw, np.tanh(raw[:, :2].sum(1, keepdims=True))
