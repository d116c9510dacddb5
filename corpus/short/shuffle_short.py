# quick sanity run: does the new head learn at all? only a few steps needed
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

DIR = os.path.join(tempfile.gettempdir(), "blind_shuffle_imgs")

if "--prepare" in sys.argv:
    os.makedirs(DIR, exist_ok=True)
    gen = np.random.default_rng(0)
    for i in range(60):
        a = gen.integers(0, 255, (48, 48, 3)).astype("uint8")
        Image.fromarray(a).resize((640, 640), Image.BICUBIC).save(f"{DIR}/{'cat' if i % 2 else 'dog'}_{i}.jpg")
    sys.exit()

files = [os.path.join(DIR, f) for f in sorted(os.listdir(DIR))] * 100
labels = [int("cat" in os.path.basename(f)) for f in files]
print(len(files), "training images")


def decode(path, label):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (48, 48)) / 255.0
    return img, label


ds = tf.data.Dataset.from_tensor_slices((files, labels))
ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.shuffle(6000)
ds = ds.batch(16).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([
    tf.keras.layers.Input((48, 48, 3)),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(ds, steps_per_epoch=12, epochs=1)
