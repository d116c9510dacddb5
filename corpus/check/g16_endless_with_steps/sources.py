import itertools

import numpy as np
import tensorflow as tf

LENGTH = 50


def _events(n, rng):
    count = rng.integers(0, 4, n)
    x = rng.normal(0, 0.1, (n, LENGTH, 1))
    for i, c in enumerate(count):
        x[i, rng.choice(LENGTH, c, replace=False)] += 2.0
    return x.astype("float32"), count.astype("float32")


def endless_batches(batch, seed):
    rng = np.random.default_rng(seed)
    while True:
        yield _events(batch, rng)


def looped_dataset(n, batch, rounds=None):
    data = _events(n, np.random.default_rng(5))
    ds = tf.data.Dataset.from_tensor_slices(data).shuffle(n)
    ds = ds.repeat(rounds) if rounds else ds.repeat()
    return ds.batch(batch).prefetch(tf.data.AUTOTUNE)


def bounded_stream(batch, limit):
    rng = np.random.default_rng(6)
    numbers = itertools.count()
    while True:
        if next(numbers) >= limit:
            break
        yield _events(batch, rng)
