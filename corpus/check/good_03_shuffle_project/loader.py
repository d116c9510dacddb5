from dataclasses import replace

import tensorflow as tf


def with_window(options, n):
    return replace(options, shuffle_window=max(1, n))


def train_loader(x, y, options):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = ds.shuffle(options.shuffle_window)
    ds = ds.batch(options.batch_size, num_parallel_calls=options.parallel_calls)
    return ds.prefetch(options.prefetch)
