# EXPECT decode-image-no-shape line=36
# NOTE decode in one map, resize in a later lambda map: the tensor between them has no static shape (the decode line is as good a place)
# SEEN ValueError: 'images' contains no shape.
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers as L
from tensorflow import image as tfi

SIZE = (24, 24)


def write_samples(folder: Path, count: int = 20):
    rng = np.random.default_rng(4)
    paths, targets = [], []
    for i in range(count):
        bright = float(rng.uniform(0.1, 1.0))
        arr = (rng.uniform(0, 255 * bright, (30, 28, 3))).astype("uint8")
        p = folder / f"sample_{i:02d}.png"
        p.write_bytes(tf.io.encode_png(arr).numpy())
        paths.append(str(p))
        targets.append([bright])
    return paths, np.asarray(targets, "float32")


folder = Path(tempfile.mkdtemp(prefix="bright_"))
paths, targets = write_samples(folder)

images = (
    tf.data.Dataset.from_tensor_slices(paths)
    .map(tf.io.read_file)
    .map(lambda raw: tfi.decode_image(raw, channels=3))
    .map(lambda im: tfi.resize(im, SIZE) / 255.0)
)
labels = tf.data.Dataset.from_tensor_slices(targets)
ds = tf.data.Dataset.zip((images, labels)).shuffle(len(paths)).batch(5)

inp = L.Input(SIZE + (3,))
h = L.Conv2D(4, 3, activation="relu")(inp)
h = L.Flatten()(h)
out = L.Dense(1)(h)
model = keras.Model(inp, out)
model.compile("adam", "mae")
model.fit(ds, epochs=2, verbose=2)
