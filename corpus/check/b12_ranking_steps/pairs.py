import numpy as np
import tensorflow as tf


def pair_dataset(n, features, batch, seed=5):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=features)
    a = rng.normal(size=(n, features)).astype("float32")
    b = rng.normal(size=(n, features)).astype("float32")
    swap = (a @ w) < (b @ w)
    better = np.where(swap[:, None], b, a)
    worse = np.where(swap[:, None], a, b)
    ds = tf.data.Dataset.from_tensor_slices((better, worse))
    ds = ds.shuffle(n, seed=seed)
    ds = ds.batch(batch, drop_remainder=True)
    return ds.prefetch(tf.data.AUTOTUNE)
