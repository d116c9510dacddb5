"""One iterator gives the batches of all steps, one after the other."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
STEPS, BATCH = 150, 32
random = np.random.default_rng(0)
rows = random.random((STEPS * BATCH, 64), "float32")
targets = rows.sum(axis=1, keepdims=True)


def scaled(x, y):
    return tf.math.log1p(tf.math.sin(x) ** 2), y


ds = tf.data.Dataset.from_tensor_slices((rows, targets)).map(scaled, tf.data.AUTOTUNE)
ds = ds.batch(BATCH).prefetch(2)

model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


batches = iter(ds)
for step in range(STEPS):
    x, y = next(batches)
    loss = train_step(x, y)
    if step % 50 == 0:
        print(f"step {step}: {float(loss):.3f}")
