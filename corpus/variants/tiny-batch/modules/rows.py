import numpy as np
import tensorflow as tf


def load(n, size):
    r = np.random.default_rng(31)
    x = r.normal(size=(n, 40, 6)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, -1])).shuffle(n).batch(size).prefetch(tf.data.AUTOTUNE)
