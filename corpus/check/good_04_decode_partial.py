# EXPECT none
# NOTE expand_animations=False comes in through functools.partial / a dict of keyword arguments
# SEEN fine, exit 0; last line: 3/3 - 0s - 10ms/step - accuracy: 0.3333 - loss: 1.2076
import functools
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

DECODE_ARGS = dict(channels=3, expand_animations=False)
decode = functools.partial(tf.io.decode_image, **DECODE_ARGS)


def sample_files(n):
    root = tempfile.mkdtemp()
    rng = np.random.default_rng(2)
    out = []
    for i in range(n):
        path = f"{root}/{i}.png"
        tf.io.write_file(path, tf.io.encode_png(rng.integers(0, 256, (20 + i, 25, 3)).astype("uint8")))
        out.append(path)
    return out


def load(path, y):
    img = decode(tf.io.read_file(path))
    img = tf.image.resize(img, (16, 16))
    return img / 255.0, y


files = sample_files(12)
y = np.arange(12) % 3

ds = (
    tf.data.Dataset.from_tensor_slices((files, y))
    .shuffle(12)
    .map(load, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(4)
    .prefetch(tf.data.AUTOTUNE)
)

model = keras.Sequential([
    keras.layers.Input((16, 16, 3)),
    keras.layers.Flatten(),
    keras.layers.Dense(3),
])
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(ds, epochs=2, verbose=2)
