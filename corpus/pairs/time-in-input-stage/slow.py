"""Every window of a long signal is a dataset of its own, made and batched by tf.data."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
signal = np.random.default_rng(0).standard_normal((120_096, 4)).astype("float32").cumsum(axis=0)

ds = tf.data.Dataset.from_tensor_slices(signal)
ds = ds.window(97, shift=1, drop_remainder=True).flat_map(lambda window: window.batch(97))
ds = ds.batch(64)
ds = ds.map(lambda windows: (windows[:, :96], windows[:, 96, :1]))
ds = ds.prefetch(2)

model = keras.Sequential(
    [
        keras.Input((96, 4)),
        keras.layers.Conv1D(8, 5, activation="relu"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(ds, verbose=2)
