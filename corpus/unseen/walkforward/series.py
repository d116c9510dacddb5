import numpy as np


def make_series(n=1500, seed=2):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    return (np.sin(t / 12) + 0.4 * np.sin(t / 71) + 0.1 * rng.standard_normal(n)).astype("float32")


def windows(series, lookback):
    v = np.lib.stride_tricks.sliding_window_view(series, lookback + 1)
    return v[:, :-1, None].copy(), v[:, -1].copy()
