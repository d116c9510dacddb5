"""tf.data loaders."""
import numpy as np
import tensorflow as tf


class Loader:
    def __init__(self, options):
        self.options = options

    def _scale(self, x, y):
        return tf.clip_by_value(x, -3.0, 3.0) / 3.0, y

    def train(self, x, y):
        opts = self.options
        ds = tf.data.Dataset.from_tensor_slices((x, y))
        ds = ds.shuffle(opts.shuffle_window, seed=opts.seed)
        ds = ds.map(self._scale, num_parallel_calls=opts.parallel_calls)
        return ds.batch(opts.batch_size).prefetch(opts.prefetch)

    def test(self, x, y):
        opts = self.options
        ds = tf.data.Dataset.from_tensor_slices((x, y))
        ds = ds.map(self._scale, num_parallel_calls=opts.parallel_calls)
        return ds.batch(opts.batch_size).prefetch(opts.prefetch)


def synthetic(n, features, classes, seed):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(classes, features)) * 2
    y = rng.integers(0, classes, n)
    x = centres[y] + rng.normal(size=(n, features))
    return x.astype("float32"), y
