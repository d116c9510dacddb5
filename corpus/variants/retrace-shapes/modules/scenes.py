import numpy as np
import tensorflow as tf


def scenes(n):
    r = np.random.default_rng(13)
    for _ in range(n):
        points = r.normal(size=(int(r.integers(500, 3000)), 3)).astype("float32")
        yield tf.convert_to_tensor(points), tf.convert_to_tensor([float(points.mean() > 0)])
