# EXPECT none
# NOTE decode_image + resize run eagerly (a Python loop, and a tf.py_function whose result gets set_shape): shapes are known there
# SEEN fine, exit 0; last line: 4/4 - 0s - 72ms/step - loss: 0.6813
import io
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow.keras import Sequential, layers

root = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for i in range(16):
    arr = rng.integers(0, 255, (30, 40, 3), dtype="uint8")
    buf = io.BytesIO()
    Image.fromarray(arr).save(buf, "JPEG")
    (root / f"{i % 2}_{i:02d}.jpg").write_bytes(buf.getvalue())

files = sorted(root.glob("*.jpg"))
labels = np.array([int(f.name[0]) for f in files])


def load_eager(path):
    picture = tf.io.decode_image(path.read_bytes(), channels=3)
    return tf.image.resize(picture, (16, 16)).numpy()


# 1) everything in memory
x = np.stack([load_eager(f) for f in files]) / 255.0
print("in memory", x.shape)


# 2) lazily through py_function
def _load(path):
    picture = tf.image.decode_image(tf.io.read_file(path), channels=3)
    return tf.image.resize(picture, (16, 16)) / 255.0


def lazy(path, label):
    picture = tf.py_function(_load, [path], tf.float32)
    picture.set_shape((16, 16, 3))
    return picture, label


ds = tf.data.Dataset.from_tensor_slices(([str(f) for f in files], labels))
ds = ds.shuffle(16).map(lazy).batch(4)

model = Sequential([
    layers.Input((16, 16, 3)),
    layers.Conv2D(4, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy")
model.fit(x, labels, epochs=1, verbose=2, batch_size=4)
model.fit(ds, epochs=1, verbose=2)
