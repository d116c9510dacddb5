"""Photo quality regression.   photo_cache.py --prepare  makes the jpgs."""
import argparse
import glob
import os
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

ROOT = os.path.join(tempfile.gettempdir(), "blind_photos")
SIDE = 512


def prepare(n=380):
    os.makedirs(ROOT, exist_ok=True)
    rng = np.random.default_rng(0)
    for k in range(n):
        small = rng.integers(0, 255, (8, 8, 3)).astype("uint8")
        Image.fromarray(small).resize((SIDE, SIDE), Image.BILINEAR).save(os.path.join(ROOT, f"{k:04d}_{k % 10}.jpg"), quality=70)


def load(path):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.convert_image_dtype(img, tf.float32)
    score = tf.strings.to_number(tf.strings.substr(path, -5, 1))
    return tf.ensure_shape(img, (SIDE, SIDE, 3)), score / 10.0


def build():
    L = tf.keras.layers
    return tf.keras.Sequential([
        L.Input((SIDE, SIDE, 3)),
        L.Conv2D(24, 7, strides=4, activation="relu"),
        L.Conv2D(48, 3, strides=2, activation="relu"),
        L.Conv2D(96, 3, strides=2, activation="relu"),
        L.GlobalAveragePooling2D(),
        L.Dense(1),
    ])


def main(epochs):
    files = sorted(glob.glob(os.path.join(ROOT, "*.jpg")))
    ds = tf.data.Dataset.from_tensor_slices(files)
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache()
    ds = ds.batch(16).prefetch(1)
    model = build()
    model.compile("adam", "mse")
    model.fit(ds, epochs=epochs, verbose=2)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--prepare", action="store_true")
    ap.add_argument("--epochs", type=int, default=3)
    a = ap.parse_args()
    prepare() if a.prepare else main(a.epochs)
