# EXPECT cause=dataset-rebuilt-per-epoch file=train.py line=27
# WHY the dataset (and its cache and shuffle buffer) is built anew for every epoch
import time

import numpy as np
import tensorflow as tf

EPOCHS = 22
rng = np.random.default_rng(2)
lines = [",".join(f"{v:.4f}" for v in row) for row in rng.normal(size=(6000, 24))]


def parse(line):
    v = tf.strings.to_number(tf.strings.split(line, ","))
    v = tf.ensure_shape(v, (24,))
    return v[:-1], v[-1:]


model = tf.keras.Sequential([
    tf.keras.Input((23,)),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(1),
])
model.compile("adam", "mse")
t0 = time.perf_counter()
for epoch in range(EPOCHS):
    ds = tf.data.Dataset.from_tensor_slices(lines).map(parse, num_parallel_calls=tf.data.AUTOTUNE).cache()
    ds = ds.shuffle(6000).batch(128).prefetch(tf.data.AUTOTUNE)
    model.fit(ds, epochs=epoch + 1, initial_epoch=epoch, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
