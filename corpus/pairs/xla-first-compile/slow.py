"""Every batch is padded to its own longest sequence, and XLA compiles for each new length."""

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
lengths = np.repeat(rng.permutation(np.arange(24, 33)), 10)
batches = [rng.random((32, length, 8), "float32") for length in lengths]


def sequences():
    for batch in batches:
        yield batch, batch.mean(axis=(1, 2))[:, None]


ds = tf.data.Dataset.from_generator(
    sequences,
    output_signature=(
        tf.TensorSpec((None, None, 8), tf.float32),
        tf.TensorSpec((None, 1), tf.float32),
    ),
).prefetch(4)

inputs = keras.Input((None, 8))
features = keras.layers.Conv1D(32, 3, padding="same", activation="relu")(inputs)
for _ in range(4):
    branch = keras.layers.Conv1D(32, 3, padding="same", activation="relu")(features)
    features = keras.layers.Add()([features, keras.layers.LayerNormalization()(branch)])
outputs = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(features))
model = keras.Model(inputs, outputs)

model.compile("adam", loss="mse", jit_compile=True)
began_s = time.perf_counter()
model.fit(ds, epochs=3, verbose=2)
print(f"training took {time.perf_counter() - began_s:.2f} s")
