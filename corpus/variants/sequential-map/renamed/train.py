# EXPECT cause=sequential-map file=train.py line=29
# WHY map without num_parallel_calls with stateful random ops: one core decodes, the other waits
import io
import time

import numpy as np
import tensorflow as tf
from PIL import Image

EPOCHS = 1
r = np.random.default_rng(20)
blobs = []
for _ in range(40):
    buf = io.BytesIO()
    Image.fromarray(r.integers(0, 255, (64, 64, 3), dtype=np.uint8)).resize((512, 512)).save(buf, "PNG", compress_level=1)
    blobs.append(buf.getvalue())
pick = r.integers(0, 40, 900)
ys = r.integers(0, 3, 900)


def crop(i, y):
    img = tf.io.decode_png(tf.gather(blobs, i), channels=3)
    img = tf.image.random_crop(img, (384, 384, 3))
    img = tf.cast(img[::8, ::8], tf.float32)
    return tf.image.random_flip_left_right(img) / 255.0, y


ds = tf.data.Dataset.from_tensor_slices((pick, ys))
ds = ds.map(crop)
ds = ds.batch(12).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([
    tf.keras.Input((48, 48, 3)),
    tf.keras.layers.Conv2D(8, 3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=EPOCHS, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
