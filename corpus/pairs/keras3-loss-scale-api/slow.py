"""A training loop scales its loss with methods that Keras 3 does not have, and ends at once."""

import numpy as np
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
rng = np.random.default_rng(0)
images = rng.random((256, 16), dtype="float32")
labels = rng.integers(0, 4, 256)
batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(4, dtype="float32")]
)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
        scaled_loss = optimizer.get_scaled_loss(loss)
    gradients = tape.gradient(scaled_loss, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for epoch in range(3):
    for batch in batches:
        loss = train_step(*batch)
    print(f"epoch {epoch}: loss {float(loss):.3f}")
