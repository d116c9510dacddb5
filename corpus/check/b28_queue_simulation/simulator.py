import functools

import numpy as np
import tensorflow as tf


def simulate(seed):
    """Single server queue: (arrival rate, service rate, queue length) -> waiting time."""
    rng = np.random.default_rng(seed)
    queue = 0
    while True:
        arrival, service = rng.uniform(0.2, 0.9), rng.uniform(0.5, 1.5)
        queue = max(0, queue + int(rng.poisson(arrival)) - int(rng.poisson(service)))
        wait = rng.gamma(queue + 1, 1.0 / service)
        yield np.array([arrival, service, queue / 10], dtype="float32"), np.float32(wait)


def waiting_time_dataset(batch_size, seed):
    ds = tf.data.Dataset.from_generator(
        functools.partial(simulate, seed),
        output_signature=(
            tf.TensorSpec((3,), tf.float32),
            tf.TensorSpec((), tf.float32),
        ),
    )
    return ds.batch(batch_size).prefetch(tf.data.AUTOTUNE)
