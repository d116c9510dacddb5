import numpy as np
import tensorflow as tf


def load(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 48, 48, 1), dtype=np.float32)
    y = rng.integers(0, 5, n).astype("int32")
    x[np.arange(n), y * 5, :, 0] += 1.0
    return x, y


def pipeline(x, y, batch, training):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if training:
        ds = ds.shuffle(len(x), seed=0)
    return ds.batch(batch).prefetch(tf.data.AUTOTUNE)
