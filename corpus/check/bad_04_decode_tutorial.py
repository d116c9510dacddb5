# EXPECT decode-image-no-shape line=42
# NOTE tf.io.decode_image without expand_animations=False; resize in the same mapped function (the decode line above would be as good a place)
# SEEN ValueError: 'images' contains no shape.
"""Fine print: flowers-like tutorial with PNG and JPEG files mixed in one folder."""
import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models

IMG_HEIGHT = 32
IMG_WIDTH = 32
BATCH_SIZE = 8
CLASS_NAMES = np.array(["dark", "light"])


def make_files(root):
    rng = np.random.default_rng(0)
    for k, name in enumerate(CLASS_NAMES):
        folder = root / name
        folder.mkdir()
        for i in range(12):
            pixels = rng.integers(k * 128, k * 128 + 127, (40, 48, 3)).astype("uint8")
            if i % 2:
                data, ext = tf.io.encode_png(pixels), "png"
            else:
                data, ext = tf.io.encode_jpeg(pixels), "jpg"
            tf.io.write_file(str(folder / f"{i:03d}.{ext}"), data)


def get_label(file_path):
    parts = tf.strings.split(file_path, os.path.sep)
    one_hot = parts[-2] == CLASS_NAMES
    return tf.argmax(tf.cast(one_hot, tf.int32))


def decode_img(img):
    # the folder has both formats, decode_image finds out by itself
    img = tf.io.decode_image(img, channels=3)
    return tf.image.resize(img, [IMG_HEIGHT, IMG_WIDTH])


def process_path(file_path):
    label = get_label(file_path)
    img = tf.io.read_file(file_path)
    img = decode_img(img)
    return img, label


data_dir = pathlib.Path(tempfile.mkdtemp())
make_files(data_dir)

list_ds = tf.data.Dataset.list_files(str(data_dir / "*/*"), shuffle=True, seed=1)
labeled = list_ds.map(process_path, num_parallel_calls=tf.data.AUTOTUNE)
labeled = labeled.batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)

model = models.Sequential([
    layers.Input((IMG_HEIGHT, IMG_WIDTH, 3)),
    layers.Rescaling(1.0 / 255),
    layers.Conv2D(8, 3, activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(2, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(labeled, epochs=2)
