# EXPECT first=decode-full-size file=train.py line=24 second=callback-batch-slow
# WHY full decode of 3-megapixel leaves for a 72x72 input costs most; a per-batch confusion plot in Python costs less
"""Leaf diseases from phone photos, one pass."""
import os
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image, ImageDraw


def photos(n):
    d = tempfile.mkdtemp()
    r = np.random.default_rng(304)
    names = []
    for k in range(n):
        names.append(os.path.join(d, f"leaf{k}.jpg"))
        Image.fromarray(r.integers(0, 255, (6, 8, 3), dtype=np.uint8)).resize((2000, 1500), Image.BICUBIC).save(names[-1], quality=75)
    return names


def read_leaf(name):
    img = tf.io.decode_jpeg(tf.io.read_file(name), channels=3)
    return tf.image.resize(img, (72, 72), method="nearest")


class LossPlot(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.values = []

    def on_train_batch_end(self, batch, logs=None):
        self.values.append(float(logs["loss"]))
        im = Image.new("RGB", (500, 300), "white")
        draw = ImageDraw.Draw(im)
        draw.line([(i * 4, 300 - v * 80) for i, v in enumerate(self.values)] + [(0, 0)], fill="red", width=2)
        im.save(os.path.join(tempfile.gettempdir(), f"loss_{os.getpid()}.png"))


r = np.random.default_rng(305)
names = photos(10)
ds = (tf.data.Dataset.from_tensor_slices((r.choice(names, 1600), r.integers(0, 5, 1600)))
      .map(lambda p, y: (tf.cast(read_leaf(p), tf.float32) / 255.0, y), num_parallel_calls=tf.data.AUTOTUNE)
      .batch(8).prefetch(tf.data.AUTOTUNE))
model = tf.keras.Sequential([tf.keras.Input((72, 72, 3)), tf.keras.layers.Conv2D(8, 5, strides=4, activation="relu"), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(5, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.time()
model.fit(ds, verbose=2, callbacks=[LossPlot()])
print(f"training took {time.time() - t0:.1f} s")
