import os
import tempfile

import numpy as np
import tensorflow as tf


def write_csv(n):
    path = os.path.join(tempfile.mkdtemp(), "log.csv")
    r = np.random.default_rng(12).normal(size=(n, 200))
    np.savetxt(path, r, fmt="%.5f", delimiter=",")
    return path


def _features(line):
    v = tf.strings.to_number(tf.strings.split(line, ","))
    v = tf.ensure_shape(v, (200,))
    spec = tf.abs(tf.signal.stft(v, 64, 8))
    top = tf.sort(tf.reshape(spec, (-1,)), direction="DESCENDING")[:32]
    return tf.math.log1p(top), v[:1]


def examples(path, batch):
    lines = tf.data.TextLineDataset(path)
    ds = lines.map(_features, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.shuffle(1000).batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
