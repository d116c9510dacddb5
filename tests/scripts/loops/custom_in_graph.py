"""The whole epoch runs inside one compiled function.
Expect: kind=graph, steps=3*n, input=graph
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.random.default_rng(0).normal(size=(n * 32, 40)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(1000).batch(32).prefetch(1)

model = tf.keras.Sequential(
    [tf.keras.Input((40,)), tf.keras.layers.Dense(400, "relu"), tf.keras.layers.Dense(1)]
)
optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)


@tf.function
def train_epoch(batches):
    total = tf.constant(0.0)
    for features, targets in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(features, training=True) - targets) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        total += loss
    return total / n


for epoch in range(3):
    mean_loss = train_epoch(ds)  # the loop
    tf.print("epoch", epoch, "loss", mean_loss)
