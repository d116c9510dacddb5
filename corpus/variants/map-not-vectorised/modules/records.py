import os
import tempfile

import numpy as np
import tensorflow as tf

NAMES = ("age", "income", "score", "visits")
SCHEMA = {n: tf.io.FixedLenFeature((1,), tf.float32) for n in NAMES + ("y",)}


def make_file(n):
    rng = np.random.default_rng(5)
    path = os.path.join(tempfile.mkdtemp(), "people.tfrecord")
    with tf.io.TFRecordWriter(path) as out:
        for row in rng.random((n, 5)):
            f = {k: tf.train.Feature(float_list=tf.train.FloatList(value=[v])) for k, v in zip(NAMES + ("y",), row)}
            out.write(tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString())
    return path


def _parse(record):
    row = tf.io.parse_single_example(record, SCHEMA)
    y = row.pop("y")
    return row, y


def load(path, batch_size=256):
    return (tf.data.TFRecordDataset(path)
            .map(_parse, num_parallel_calls=tf.data.AUTOTUNE)
            .batch(batch_size)
            .prefetch(tf.data.AUTOTUNE))
