"""Leaf disease images from a folder of JPEGs."""
import os
import tempfile

import numpy as np
import tensorflow as tf
import keras
from keras import layers

AUTO = tf.data.AUTOTUNE
keras.utils.set_random_seed(77)
ROOT = tempfile.mkdtemp(prefix="leaf_")
CLASSES = ["healthy", "rust", "blight", "scab"]
IMG = 64


def make_folder(per_class=72):
    rng = np.random.default_rng(77)
    for k, c in enumerate(CLASSES):
        os.makedirs(os.path.join(ROOT, c))
        for i in range(per_class):
            im = rng.integers(0, 90, (96, 96, 3))
            im[..., 1] += 80
            for _ in range(k * 6):
                a, b = rng.integers(0, 84, 2)
                im[a:a + 10, b:b + 10, k % 3] = 220
            tf.io.write_file(os.path.join(ROOT, c, f"{i}.jpg"),
                             tf.io.encode_jpeg(im.astype("uint8"), quality=90))


def load(path):
    label = tf.argmax(tf.strings.split(path, os.sep)[-2] == tf.constant(CLASSES))
    im = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(im, (IMG, IMG)) / 255.0, label


def augment(x, y):
    x = tf.image.random_flip_left_right(x)
    x = tf.image.random_brightness(x, 0.1)
    return x, y


make_folder()
ds = (tf.data.Dataset.list_files(os.path.join(ROOT, "*", "*.jpg"), seed=1)
      .map(load, num_parallel_calls=AUTO)
      .cache()
      .shuffle(512, seed=2)
      .map(augment, num_parallel_calls=AUTO)
      .batch(32)
      .prefetch(AUTO))

inp = keras.Input((IMG, IMG, 3))
x = layers.Conv2D(32, 3, padding="same", activation="relu")(inp)
for f in (32, 64):
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
x = layers.GlobalAveragePooling2D()(x)
model = keras.Model(inp, layers.Dense(len(CLASSES), activation="softmax")(x))
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=10, verbose=2)
