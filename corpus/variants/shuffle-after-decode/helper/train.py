# EXPECT cause=shuffle-after-decode file=train.py line=32
# WHY make_input() shuffles decoded and resized X-rays: 1100 of them are decoded before the first step of each epoch of 12 steps; shuffle the bytes instead
"""Pneumonia yes/no. Short epochs with a fresh random sample of the archive in each."""
import io
import time

import numpy as np
import tensorflow as tf
from PIL import Image


def jpeg(rng):
    buf = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (20, 20), dtype=np.uint8)).resize((360, 360), Image.BILINEAR).save(buf, "JPEG", quality=88)
    return buf.getvalue()


class Archive:
    def __init__(self, n):
        rng = np.random.default_rng(91)
        some = [jpeg(rng) for _ in range(60)]
        self.blobs = [some[k % 60] for k in range(n)]
        self.sick = rng.integers(0, 2, (n, 1)).astype("float32")

    def open(self, blob, y):
        img = tf.image.convert_image_dtype(tf.io.decode_jpeg(blob, channels=1), tf.float32)
        return tf.image.resize(img, (140, 140), antialias=True), y

    def make_input(self, batch, steps):
        ds = tf.data.Dataset.from_tensor_slices((self.blobs, self.sick))
        ds = ds.map(self.open, num_parallel_calls=tf.data.AUTOTUNE)
        ds = ds.shuffle(len(self.blobs))
        return ds.batch(batch).take(steps).prefetch(tf.data.AUTOTUNE)


def xray_net():
    return tf.keras.Sequential([
        tf.keras.Input((140, 140, 1)),
        tf.keras.layers.Conv2D(8, 5, strides=3, activation="relu"),
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalMaxPooling2D(),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])


if __name__ == "__main__":
    model = xray_net()
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    train = Archive(2000).make_input(batch=20, steps=12)
    t0 = time.perf_counter()
    model.fit(train, epochs=7, verbose=2)
    print(f"training took {time.perf_counter() - t0:.1f} s")
