"""The compiled step takes the iterator and asks for its batch itself.
Expect: kind=custom, steps=2*n, input=tf.data, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def input_fn():
    x = np.random.default_rng(0).normal(size=(800, 28)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices(x).repeat()
    return ds.map(lambda row: (tf.sort(row), tf.reduce_mean(row))).batch(32)


encoder = tf.keras.Sequential([tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-3)
mean_loss = tf.keras.metrics.Mean()


@tf.function
def train_step(iterator):
    features, targets = next(iterator)
    with tf.GradientTape() as tape:
        predicted = tf.squeeze(encoder(features, training=True), -1)
        loss = tf.reduce_mean(tf.math.squared_difference(predicted, targets))
    gradients = tape.gradient(loss, encoder.trainable_variables)
    optimizer.apply_gradients(zip(gradients, encoder.trainable_variables, strict=True))
    mean_loss.update_state(loss)


train_iterator = iter(input_fn())
for number in range(2 * n):  # the loop
    train_step(train_iterator)
    if (number + 1) % n == 0:
        print("loss", mean_loss.result().numpy())
        mean_loss.reset_state()
