# EXPECT cause=decode-full-size file=train.py line=24
# WHY 2-megapixel photos are decoded in full for a 64x64 input
import os
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image

folder = tempfile.mkdtemp()
rng = np.random.default_rng(6)
photos = []
for i in range(16):
    small = Image.fromarray(rng.integers(0, 255, (30, 40, 3), dtype=np.uint8))
    photos.append(os.path.join(folder, f"photo{i}.jpg"))
    small.resize((1600, 1200), Image.BICUBIC).save(photos[-1], quality=88)
N = 1560
picked = rng.choice(photos, N)  # one pass over a sampled list
labels = rng.integers(0, 4, N)


def load(path, label):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (64, 64)) / 255.0
    return img, label


ds = (tf.data.Dataset.from_tensor_slices((picked, labels))
      .map(load, num_parallel_calls=tf.data.AUTOTUNE)
      .batch(12)
      .prefetch(tf.data.AUTOTUNE))
model = tf.keras.Sequential([
    tf.keras.Input((64, 64, 3)),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=1, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
