"""Load forecasting: windows cut with tf.data window/flat_map, cached, then a TCN. Usual validation of one fifth."""
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models

T, BATCH = 72, 64
hours = np.arange(6000)
rng = np.random.default_rng(210)
load = np.stack([np.sin(hours / 24 * 2 * np.pi + p) + 0.1 * rng.standard_normal(6000) for p in range(4)], 1).astype("float32")


def windows(series, shift):
    ds = tf.data.Dataset.from_tensor_slices(series).window(T + 1, shift=shift, drop_remainder=True)
    ds = ds.flat_map(lambda w: w.batch(T + 1))
    return ds.batch(256).map(lambda w: (w[:, :-1], w[:, -1]), num_parallel_calls=tf.data.AUTOTUNE).unbatch().cache()


train = windows(load[:5000], 3).shuffle(2000).batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
val = windows(load[5000:], 3).batch(BATCH).prefetch(tf.data.AUTOTUNE)

tcn = models.Sequential([layers.Input((T, 4))])
for d in (1, 2, 4, 8):
    tcn.add(layers.Conv1D(96, 3, padding="causal", dilation_rate=d, activation="relu"))
tcn.add(layers.Flatten())
tcn.add(layers.Dense(4))
tcn.compile("adam", "mse")
t0 = time.time()
tcn.fit(train, validation_data=val, epochs=14, verbose=2)
print(f"training took {time.time() - t0:.1f} s")
