"""A loop of its own over `iter(ds)` and `next`, counted in steps.
Expect: kind=custom, steps=2*n, input=tf.data, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf
from keras import Sequential, layers, optimizers

total_steps = 2 * (int(sys.argv[1]) if len(sys.argv) > 1 else 30)
x = np.random.default_rng(0).normal(size=(600, 24)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).repeat().shuffle(600).batch(24)

net = Sequential([layers.Dense(256, activation="swish"), layers.Dense(1)])
opt = optimizers.Adam(1e-3)


@tf.function
def update(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(net(features, training=True) - targets))
    opt.apply_gradients(
        zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables, strict=True)
    )
    return loss


iterator = iter(dataset)
step = 0
while step < total_steps:  # the loop
    features, targets = next(iterator)  # line: next
    loss = update(features, targets)  # line: step
    step += 1
    if step % 20 == 0:
        print("step", step, "loss", loss.numpy())
