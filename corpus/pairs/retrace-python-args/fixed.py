"""The learning rate is a tensor, and one graph serves every step."""

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.random((640, 16, 16, 3), "float32")
y = rng.random((640, 1), "float32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).prefetch(2)

model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(1),
    ]
)


@tf.function
def train_step(images, targets, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(images, training=True) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    for weight, gradient in zip(model.trainable_variables, gradients, strict=True):
        weight.assign_sub(rate * gradient)
    return loss


step = 0
for epoch in range(6):
    began_s = time.perf_counter()
    for images, targets in ds:
        step += 1
        rate = tf.constant(0.01 * 0.99**step, tf.float32)
        loss = train_step(images, targets, rate)
    print(f"epoch {epoch}: loss {float(loss):.4f}, {time.perf_counter() - began_s:.2f} s")
