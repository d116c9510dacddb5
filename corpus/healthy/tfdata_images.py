"""Image classifier fed by a tuned tf.data pipeline (JPEG files, parallel decode, cache, shuffle, prefetch)."""
import os
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image

keras = tf.keras
AUTOTUNE = tf.data.AUTOTUNE
SIZE = 64
rng = np.random.default_rng(0)

root = tempfile.mkdtemp(prefix="imgs_")
paths, labels = [], []
for i in range(640):
    p = os.path.join(root, f"{i:04d}.jpg")
    Image.fromarray(rng.integers(0, 255, (SIZE, SIZE, 3), dtype=np.uint8)).save(p, quality=85)
    paths.append(p)
    labels.append(i % 10)


def load(path, label):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.ensure_shape(img, (SIZE, SIZE, 3)), label


ds = (tf.data.Dataset.from_tensor_slices((paths, labels))
      .map(load, num_parallel_calls=AUTOTUNE)
      .cache()
      .shuffle(640)
      .batch(32, drop_remainder=True)
      .prefetch(AUTOTUNE))

model = keras.Sequential([
    keras.Input((SIZE, SIZE, 3)),
    keras.layers.Rescaling(1 / 255.0),
    keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
    keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
start = time.perf_counter()
model.fit(ds, epochs=9, verbose=2)
print(f"training took {time.perf_counter() - start:.1f} s")
