# EXPECT cause=from-generator file=train.py line=19
# WHY one Python call per row through from_generator; the arrays are in memory already
import time

import numpy as np
import tensorflow as tf

EPOCHS = 2
rng = np.random.default_rng(0)
rows = rng.normal(size=(16000, 40)).astype("float32")
target = (rows[:, :3].sum(1) > 0).astype("float32")


def read_rows():
    for r, t in zip(rows, target):
        yield r, [t]


dataset = tf.data.Dataset.from_generator(
    read_rows,
    output_signature=(tf.TensorSpec((40,), tf.float32), tf.TensorSpec((1,), tf.float32)),
)
dataset = dataset.batch(128).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([
    tf.keras.Input((40,)),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
t0 = time.perf_counter()
model.fit(dataset, epochs=EPOCHS, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
