"""Draughts games as text: 18 moves and the result."""
import os
import tempfile

import numpy as np
import tensorflow as tf

BUFFER = 36_000


def write_games(n):
    r = np.random.default_rng(66)
    path = os.path.join(tempfile.mkdtemp(), "games.pdn")
    moves = r.integers(0, 64, (n, 18))
    res = r.integers(0, 3, n)
    with open(path, "w") as f:
        for m, k in zip(moves, res):
            f.write("-".join(map(str, m)) + f";{k}\n")
    return path


def _read(line):
    left = tf.strings.split(line, ";")
    moves = tf.strings.to_number(tf.strings.split(left[0], "-"), tf.int32)
    return tf.ensure_shape(moves, (18,)), tf.strings.to_number(left[1], tf.int32)


def load_games(path):
    ds = tf.data.TextLineDataset(path).map(_read, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.shuffle(BUFFER)
