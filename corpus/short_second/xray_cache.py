"""Chest x-ray style classifier, whole study kept encoded in memory."""
import argparse
import io

import numpy as np
import tensorflow as tf
from PIL import Image

parser = argparse.ArgumentParser()
parser.add_argument("--images", type=int, default=2400)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--side", type=int, default=256)
FLAGS = parser.parse_args()


def studies(n):
    rng = np.random.default_rng(0)
    blobs = []
    for _ in range(60):
        a = rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)
        buf = io.BytesIO()
        Image.fromarray(a).resize((FLAGS.side, FLAGS.side), Image.BICUBIC).save(buf, "JPEG", quality=80)
        blobs.append(buf.getvalue())
    return [blobs[i % 60] for i in range(n)], [i % 2 for i in range(n)]


def prepare(blob, label):
    img = tf.io.decode_jpeg(blob, channels=3)
    img = tf.image.convert_image_dtype(img, tf.float32)
    img.set_shape((FLAGS.side, FLAGS.side, 3))
    return tf.image.per_image_standardization(img), label


blobs, labels = studies(FLAGS.images)
ds = tf.data.Dataset.from_tensor_slices((blobs, labels))
ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.cache()
ds = ds.shuffle(64).batch(32).prefetch(tf.data.AUTOTUNE)

inp = tf.keras.Input((FLAGS.side, FLAGS.side, 3))
x = tf.keras.layers.Conv2D(16, 7, strides=4, activation="relu")(inp)
x = tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu")(x)
x = tf.keras.layers.Conv2D(64, 3, activation="relu")(x)
x = tf.keras.layers.GlobalAveragePooling2D()(x)
model = tf.keras.Model(inp, tf.keras.layers.Dense(1, activation="sigmoid")(x))
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=FLAGS.epochs, verbose=2)
