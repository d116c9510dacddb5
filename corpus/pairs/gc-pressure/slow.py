"""A loop calls the garbage collector in every step, with a large vocabulary in memory."""

import gc
import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
vocabulary = {f"word{number}": [number, [number % 7]] for number in range(400_000)}
x = rng.random((4096, 256), "float32")
y = rng.random((4096, 1), "float32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096).batch(128).repeat()

model = keras.Sequential([keras.layers.Dense(1024, "relu"), keras.layers.Dense(1)])
model.build((None, 256))
optimizer = keras.optimizers.Adam()


@tf.function
def train_step(rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows) - targets) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


began_s = time.perf_counter()
for step, (rows, targets) in enumerate(ds):
    loss = train_step(rows, targets)
    gc.collect()
    if step == 120:
        break
print(f"loss {float(loss):.4f}, {len(vocabulary)} words")
print(f"training took {time.perf_counter() - began_s:.2f} s")
