"""Stuck, third block: records with JPEGs and a label each."""

import tensorflow as tf


def parse(record):
    parts = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    found = tf.io.parse_single_example(record, parts)
    picture = tf.io.decode_jpeg(found["image"], channels=3)
    picture = tf.image.resize(picture, [256, 256])
    picture = tf.cast(picture, tf.float32) / 255.0
    answer = tf.cast(found["label"], tf.int32)
    return picture, answer


batches = tf.data.TFRecordDataset(["data.tfrecord"])
batches = batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
batches = batches.shuffle(buffer_size=1024).batch(32).prefetch(tf.data.AUTOTUNE)

model = tf.keras.models.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.Adam(), loss="mse")
model.fit(batches, epochs=10)
