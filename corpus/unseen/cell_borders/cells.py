import numpy as np


def make_cells(n, size, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size]
    masks = np.zeros((n, size, size, 1), "float32")
    for i in range(n):
        for _ in range(14):
            cy, cx = rng.integers(4, size - 4, 2)
            r = rng.integers(3, 6)
            masks[i, ..., 0][(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 1
    images = masks * 0.6 + 0.2 * rng.standard_normal(masks.shape).astype("float32")
    return images.astype("float32"), masks
