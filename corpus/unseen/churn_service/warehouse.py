import numpy as np


def load_customers(s):
    rng = np.random.default_rng(s.seed)
    x = rng.standard_normal((s.customers, s.features)).astype("float32")
    logit = x[:, :5].sum(1) + 0.5 * x[:, 5] * x[:, 6]
    y = (logit + rng.standard_normal(s.customers) > 0).astype("float32")
    cut = int(s.customers * 0.85)
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])
