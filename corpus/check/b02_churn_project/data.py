import numpy as np


def load_splits(seed: int, n: int = 4000, n_features: int = 12, val_share: float = 0.2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype("float32")
    w = rng.normal(size=n_features)
    p = 1.0 / (1.0 + np.exp(-(x @ w)))
    y = (rng.random(n) < p).astype("float32")
    order = rng.permutation(n)
    cut = int(n * (1 - val_share))
    tr, va = order[:cut], order[cut:]
    return (x[tr], y[tr]), (x[va], y[va])
