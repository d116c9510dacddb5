import os
import tempfile

import numpy as np
import tensorflow as tf

EVERYTHING = 40_000


def write_corpus(n):
    path = os.path.join(tempfile.mkdtemp(), "corpus.txt")
    r = np.random.default_rng(17)
    words = np.array([f"w{i}" for i in range(500)])
    with open(path, "w") as f:
        for _ in range(n // 100):
            block = [" ".join(words[r.integers(0, 500, 24)]) for _ in range(100)]
            f.write("\n".join(block) + "\n")
    return path


def _ids(line):
    tok = tf.strings.split(line)
    return tf.ensure_shape(tf.strings.to_hash_bucket_fast(tok, 2000), (24,)), tf.cast(tf.strings.length(line) % 2, tf.float32)[None]


def mix(ds, size=EVERYTHING):
    return ds.shuffle(size, reshuffle_each_iteration=True)


def batches(path, n, per_epoch):
    ds = tf.data.TextLineDataset(path).map(_ids, num_parallel_calls=tf.data.AUTOTUNE)
    return mix(ds).batch(n).take(per_epoch).prefetch(2)
