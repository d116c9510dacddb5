import numpy as np
import tensorflow as tf

import config as C


def split(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, C.VOCAB, (n, C.SEQ))
    y = rng.integers(0, C.CLASSES, n)
    return x, y


def make(n, seed, training):
    ds = tf.data.Dataset.from_tensor_slices(split(n, seed))
    if training:
        ds = ds.shuffle(n, seed=seed)
    return ds.batch(C.BATCH).prefetch(tf.data.AUTOTUNE)
