"""The gradient is taken behind the block."""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.random((256, 8), dtype="float32")
y = rng.integers(0, 2, 256)
model = keras.Sequential([keras.layers.Dense(2)])
model.build((None, 8))
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD()


@tf.function
def train_step(x, y):
    with tf.GradientTape(persistent=True) as tape:
        loss = loss_fn(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for _ in range(10):
    train_step(x, y)
