"""Metrics are updated inside the compiled step, and read once per epoch."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(16384, 64)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).cache().shuffle(256, seed=0)

model = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(2)]
)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam()
mean_loss = keras.metrics.Mean()
accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = loss_of(labels, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    mean_loss.update_state(loss)
    accuracy.update_state(labels, logits)


for epoch in range(12):
    mean_loss.reset_state()
    accuracy.reset_state()
    for images, labels in ds:
        train_step(images, labels)
    shown = f"loss {float(mean_loss.result()):.4f} accuracy {float(accuracy.result()):.4f}"
    print(f"epoch {epoch}: {shown}")
