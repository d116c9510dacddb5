# EXPECT cause=missing-cache file=train.py line=28
# WHY 240 small pictures (12 MB decoded) are read and decoded again in each of 20 epochs
import os
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image

root = tempfile.mkdtemp()
rng = np.random.default_rng(11)
for c in ("cats", "dogs"):
    os.makedirs(os.path.join(root, c))
    for i in range(120):
        im = Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).resize((256, 256))
        im.save(os.path.join(root, c, f"{i}.png"), compress_level=1)

files = tf.data.Dataset.list_files(root + "/*/*.png", seed=1)


def read(path):
    img = tf.io.decode_png(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (64, 64), method="area") / 255.0
    return img, tf.cast(tf.strings.regex_full_match(path, ".*dogs.*"), tf.float32)[None]


train = files.map(read, num_parallel_calls=tf.data.AUTOTUNE)
train = train.shuffle(240).batch(16).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([
    tf.keras.Input((64, 64, 3)),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy")
t0 = time.perf_counter()
model.fit(train, epochs=20, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
