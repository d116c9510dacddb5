"""A loop of the script's own that keeps the last losses."""

import collections

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((40000, 64), "float32")
y = x.sum(axis=1, keepdims=True)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2000).batch(80).prefetch(2)
layers = [keras.layers.Dense(128, activation="relu") for _ in range(3)]
model = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


losses = collections.deque(maxlen=500)
for epoch in range(10):
    for images, targets in ds:
        losses.append(float(train_step(images, targets)))
        smooth = np.mean(losses)
    print(f"epoch {epoch}: {smooth:.4f}")
