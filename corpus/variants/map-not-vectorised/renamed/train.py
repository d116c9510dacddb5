# EXPECT cause=map-not-vectorised file=train.py line=22
# WHY a few cheap ops per row, dispatched 60000 times an epoch; batch first
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(4)
raw = rng.integers(0, 255, size=(60000, 24)).astype("uint8")
lab = (raw[:, 0] > 127).astype("float32")[:, None]
EPOCHS = 5


def normalise(x, y):
    x = tf.cast(x, tf.float32)
    x = (x - 127.5) / 60.0
    x = tf.concat([x, tf.square(x), tf.sin(x)], axis=-1)
    return tf.clip_by_value(x, -3.0, 3.0), y


ds = tf.data.Dataset.from_tensor_slices((raw, lab))
ds = ds.map(normalise, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.batch(512).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([
    tf.keras.Input((72,)),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=EPOCHS, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
