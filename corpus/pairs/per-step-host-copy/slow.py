"""Each step cuts a batch out of an array, converts it with NumPy and copies it into a tensor."""

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
images = rng.integers(0, 256, (2048, 96, 96, 3), dtype=np.uint8)
labels = (images.mean(axis=(1, 2, 3)) > 127.5).astype("int32")

model = keras.Sequential(
    [
        keras.Input((96, 96, 3)),
        keras.layers.AveragePooling2D(4),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(2),
    ]
)
optimizer = keras.optimizers.SGD(0.01)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(batch, targets):
    with tf.GradientTape() as tape:
        loss = loss_of(targets, model(batch, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for epoch in range(28):
    began = time.perf_counter()
    order = rng.permutation(len(images))
    for start in range(0, len(images), 64):
        chosen = order[start : start + 64]
        batch = tf.constant((images[chosen] / 255.0).astype("float32"))
        loss = train_step(batch, tf.constant(labels[chosen]))
    print(f"epoch {epoch}: loss {float(loss):.4f}, {time.perf_counter() - began:.2f} s")
