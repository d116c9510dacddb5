"""A small map runs once per row, thousands of times per step, before the rows are batched."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
rows = rng.integers(0, 255, (131_072, 32), dtype=np.uint8)
labels = rng.integers(0, 10, 131_072)


def scale(row, label):
    return tf.cast(row, tf.float32) / 255.0, tf.one_hot(label, 10)


ds = tf.data.Dataset.from_tensor_slices((rows, labels))
ds = ds.map(scale, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.batch(2048).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)]
)
model.compile("adam", loss=keras.losses.CategoricalCrossentropy(from_logits=True))
model.fit(ds, epochs=4, verbose=2)
