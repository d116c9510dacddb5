"""Fits on TFRecord files with parsed examples.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
SPEC = {
    "x": tf.io.FixedLenFeature([32], tf.float32),
    "y": tf.io.FixedLenFeature([], tf.int64),
}


def example(x, y):
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
        "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[y])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse(record):
    parsed = tf.io.parse_single_example(record, SPEC)
    return parsed["x"], parsed["y"]


folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(3)
for shard in range(2):
    with tf.io.TFRecordWriter(str(folder / f"train-{shard}.tfrecord")) as writer:
        for _ in range(256):
            writer.write(example(rng.normal(size=32), int(rng.integers(3))))

names = sorted(str(path) for path in folder.glob("*.tfrecord"))
records = tf.data.TFRecordDataset(names).shuffle(200).repeat()
train = records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential()
for units in (512, 512, 3):
    model.add(keras.layers.Dense(units, activation="relu" if units > 3 else None))
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, steps_per_epoch=n, epochs=2, verbose=2)  # the loop
