# EXPECT none
# NOTE a Python generator makes the TFRecord files once, beforehand; training reads them with interleave and decodes with TensorFlow only
# SEEN ran to the end (rc 0), no complaint of its own
"""Fruit classification from TFRecords."""
import io
import os
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow import keras
from tensorflow.keras import layers

SIZE = 32
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def fruits(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        label = int(rng.integers(0, 3))
        a = rng.integers(0, 80, (SIZE, SIZE, 3), dtype=np.uint8)
        a[8:24, 8:24, label] += 150
        buf = io.BytesIO()
        Image.fromarray(a).save(buf, format="JPEG", quality=90)
        yield buf.getvalue(), label


def write_records(path, n, seed):
    with tf.io.TFRecordWriter(path) as writer:
        for data, label in fruits(n, seed):
            example = tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
                        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                    }
                )
            )
            writer.write(example.SerializeToString())


def parse(record):
    ex = tf.io.parse_single_example(record, FEATURES)
    image = tf.io.decode_jpeg(ex["image"], channels=3)
    image = tf.ensure_shape(image, (SIZE, SIZE, 3))
    return tf.image.convert_image_dtype(image, tf.float32), ex["label"]


def read(pattern, training):
    files = tf.data.Dataset.list_files(pattern, shuffle=training)
    ds = files.interleave(
        tf.data.TFRecordDataset,
        cycle_length=4,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=not training,
    )
    if training:
        ds = ds.shuffle(512)
    ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(32)
    return ds.prefetch(tf.data.AUTOTUNE)


def main():
    keras.utils.set_random_seed(2)
    with tempfile.TemporaryDirectory() as tmp:
        for i in range(4):
            write_records(os.path.join(tmp, f"train-{i}.tfrecord"), 80, seed=i)
        write_records(os.path.join(tmp, "val-0.tfrecord"), 60, seed=99)

        train = read(os.path.join(tmp, "train-*.tfrecord"), True)
        val = read(os.path.join(tmp, "val-*.tfrecord"), False)
        model = keras.Sequential(
            [
                keras.Input((SIZE, SIZE, 3)),
                layers.Conv2D(8, 3, activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(16, 3, activation="relu"),
                layers.GlobalAveragePooling2D(),
                layers.Dense(3, activation="softmax"),
            ]
        )
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(train, validation_data=val, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
