# EXPECT cause=shuffle-buffer-too-big file=train.py line=20
# WHY 80000 windows have to be cut before the first step; the run uses 16000
import time

import numpy as np
import tensorflow as tf

WINDOW = 32
series = np.random.default_rng(16).normal(size=90_000).cumsum().astype("float32")


def pair(w):
    return w[:-1, None], w[-1:]


ds = (tf.data.Dataset.from_tensor_slices(series)
      .window(WINDOW + 1, shift=1, drop_remainder=True)
      .flat_map(lambda w: w.batch(WINDOW + 1))
      .map(pair, num_parallel_calls=tf.data.AUTOTUNE)
      .shuffle(80_000)
      .repeat()
      .batch(64)
      .prefetch(tf.data.AUTOTUNE))

model = tf.keras.Sequential([
    tf.keras.Input((WINDOW, 1)),
    tf.keras.layers.Conv1D(64, 5, activation="relu"),
    tf.keras.layers.Conv1D(64, 5, activation="relu"),
    tf.keras.layers.GlobalAveragePooling1D(),
    tf.keras.layers.Dense(1),
])
model.compile("adam", "mse")
t0 = time.perf_counter()
model.fit(ds, steps_per_epoch=50, epochs=5, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
