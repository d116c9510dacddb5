"""Fits on image files that tf.data reads and decodes.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import os
import sys
import tempfile

import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
BATCH = 8


def write_images(folder, count=64):
    """Write small images; their class is in the name."""
    for number in range(count):
        pixels = tf.cast(tf.random.uniform((40, 40, 3), 0, 256, tf.int32), tf.uint8)
        path = os.path.join(folder, f"{number % 4}-{number}.png")
        tf.io.write_file(path, tf.io.encode_png(pixels))


def load(path):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    name = tf.strings.split(path, os.sep)[-1]
    label = tf.strings.to_number(tf.strings.substr(name, 0, 1), tf.int64)
    return tf.image.resize(image, (32, 32)) / 255.0, label


with tempfile.TemporaryDirectory() as folder:
    write_images(folder)
    files = tf.data.Dataset.list_files(os.path.join(folder, "*.png"), shuffle=True)
    ds = files.repeat().map(load, num_parallel_calls=2).batch(BATCH).take(n)
    layers = tf.keras.layers
    model = tf.keras.Sequential()
    model.add(layers.Input((32, 32, 3)))
    model.add(layers.Conv2D(16, 3, activation="relu"))
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(4))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    model.fit(ds, epochs=2, verbose=0)  # the loop
