import numpy as np
import tensorflow as tf


def stream(n):
    r = np.random.default_rng(15)
    x = r.normal(size=(n * 32, 20, 8)).astype("float32")
    y = x.sum((1, 2))[:, None]
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(32).prefetch(2)
