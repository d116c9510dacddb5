import numpy as np
import tensorflow as tf

from distort import distort


def build(n, batch):
    r = np.random.default_rng(10)
    pics = r.random((n, 72, 72, 3), dtype=np.float32)
    kind = r.integers(0, 6, n)
    ds = tf.data.Dataset.from_tensor_slices((pics, kind)).shuffle(n)
    ds = ds.map(lambda p, k: (distort(p), k), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(batch).prefetch(tf.data.AUTOTUNE)
