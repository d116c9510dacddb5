"""Lines of text are turned into numbers one by one in a generator that feeds tf.data."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
rows = rng.standard_normal((8192, 64)).round(4)
lines = [",".join(map(str, row)) for row in rows]
labels = rng.integers(0, 4, 8192)


def examples():
    for line, label in zip(lines, labels, strict=True):
        values = [float(text) for text in line.split(",")]
        mean = sum(values) / len(values)
        yield np.array([value - mean for value in values], "float32"), label


ds = tf.data.Dataset.from_generator(
    examples,
    output_signature=(tf.TensorSpec((64,), tf.float32), tf.TensorSpec((), tf.int64)),
)
ds = ds.batch(128).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(ds, epochs=6, verbose=2)
