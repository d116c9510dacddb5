import numpy as np
import tensorflow as tf

import pybridge

VOCAB = 4096
WORDS = [f"word{i}" for i in range(3000)]


def training_set(batch):
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS, 60)) for _ in range(4000)]
    y = rng.integers(0, 2, (4000, 1)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((texts, y))
    ds = ds.map(lambda t, l: (pybridge.encode(t), l), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(batch).prefetch(1)
