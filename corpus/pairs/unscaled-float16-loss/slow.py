"""A loop in float16 takes gradients that are too small for it: they become zero."""

import numpy as np
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
tf.keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
inputs = rng.random((256, 16), dtype="float32")
targets = inputs.sum(axis=1, keepdims=True) * 1e-4
batches = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(1e6)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        error = tf.cast(model(x, training=True), "float32") - y
        loss = tf.reduce_mean(tf.square(error)) * 1e-8
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for epoch in range(5):
    losses = [float(train_step(*batch)) for batch in batches]
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4g}")
