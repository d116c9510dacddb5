"""The values are between 0 and 1."""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
labels = rng.integers(0, 2, 64)
paths = [str(folder / f"{number}.png") for number in range(64)]
for path, label in zip(paths, labels, strict=True):
    picture = rng.integers(0, 128, (48, 48, 3)) + 100 * label
    tf.io.write_file(path, tf.io.encode_png(tf.constant(picture, tf.uint8)))


def load(path, label):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (32, 32))
    image = image / 255.0
    return image, label


dataset = tf.data.Dataset.from_tensor_slices((paths, labels)).map(load)
model = keras.Sequential(
    [keras.layers.Conv2D(4, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
)
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(dataset.batch(16), epochs=2, verbose=2)
