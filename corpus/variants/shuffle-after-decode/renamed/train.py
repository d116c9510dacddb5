# EXPECT cause=shuffle-after-decode file=train.py line=27
# WHY the shuffle buffer is filled with decoded float images before the first batch of each epoch; shuffle the names instead
import os
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image

folder = tempfile.mkdtemp()
rng = np.random.default_rng(18)
for i in range(150):
    Image.fromarray(rng.integers(0, 255, (24, 24, 3), dtype=np.uint8)).resize((224, 224)).save(f"{folder}/{i}.jpg", quality=90)
names = [os.path.join(folder, f) for f in sorted(os.listdir(folder))] * 10
labels = np.arange(len(names)) % 4


def load(name, label):
    img = tf.io.decode_jpeg(tf.io.read_file(name), channels=3)
    img = tf.image.resize(tf.image.convert_image_dtype(img, tf.float32), (112, 112), antialias=True)
    return img, label


ds = (tf.data.Dataset.from_tensor_slices((names, labels))
      .map(load, num_parallel_calls=tf.data.AUTOTUNE)
      .shuffle(1500)
      .batch(16)
      .take(15)
      .prefetch(tf.data.AUTOTUNE))
model = tf.keras.Sequential([
    tf.keras.Input((112, 112, 3)),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=5, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
