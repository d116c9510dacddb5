"""Slowing down, second block: a compiled step by hand that checks its loss for NaN."""

import keras
import numpy as np
import tensorflow as tf

pictures = np.random.rand(640, 8, 8, 1).astype("float32")
numbers = np.random.randint(0, 4, size=640)
net = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(4)])
measure = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
adam = keras.optimizers.Adam()


@tf.function
def one_step(batch, wanted):
    with tf.GradientTape() as tape:
        guess = net(batch)
        cost = measure(wanted, guess)
        cost = tf.debugging.check_numerics(cost, "the loss is not a number")
        slopes = tape.gradient(cost, net.trainable_variables)
        adam.apply_gradients(zip(slopes, net.trainable_variables))
    return cost


for start in range(0, 640, 32):
    cost = one_step(pictures[start : start + 32], numbers[start : start + 32])
print("done", float(cost))
