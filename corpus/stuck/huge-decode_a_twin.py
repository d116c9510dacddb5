# EXPECT moving
# NOTE the same pipeline with smaller scans (2000 pixels): a batch of 64 takes some 5 s.
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

Image.MAX_IMAGE_PIXELS = None


def scanned_plates(n, side):
    """One scan of the herbarium, copied n times."""
    d = tempfile.mkdtemp(prefix="herbarium_")
    rng = np.random.default_rng(1)
    thumb = Image.fromarray(rng.integers(0, 255, (side // 6, side // 6, 3), dtype=np.uint8))
    first = os.path.join(d, "plate_000.jpg")
    thumb.resize((side, side), Image.BILINEAR).save(first, quality=92, progressive=True)
    for i in range(1, n):
        os.link(first, os.path.join(d, "plate_%03d.jpg" % i))
    return d


def load_plate(path):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (128, 128)) / 255.0
    label = tf.strings.to_number(tf.strings.substr(path, -5, 1), tf.int32) % 2
    return img, label


def make_ds(folder, batch):
    ds = tf.data.Dataset.list_files(folder + "/*.jpg", shuffle=True, seed=1)
    ds = ds.map(load_plate).batch(batch)
    opts = tf.data.Options()
    opts.threading.private_threadpool_size = 1  # leave the other core to the model
    opts.autotune.enabled = False
    return ds.with_options(opts)


def main():
    folder = scanned_plates(n=128, side=2000)
    try:
        model = tf.keras.Sequential([
            tf.keras.Input((128, 128, 3)),
            tf.keras.layers.Conv2D(8, 5, strides=3, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(2, activation="softmax"),
        ])
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(make_ds(folder, 64), epochs=2)
    finally:
        shutil.rmtree(folder)


main()
