"""Two networks, two optimizers and two compiled steps per batch.
Expect: kind=custom, steps=2*n, input=tf.data, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential, layers

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
NOISE, SIZE, BATCH = 16, 64, 16

generator = Sequential([layers.Dense(128, activation="relu"), layers.Dense(SIZE)])
discriminator = Sequential([layers.Dense(128, activation="relu"), layers.Dense(1)])
g_optimizer = tf.keras.optimizers.Adam(1e-4)
d_optimizer = tf.keras.optimizers.Adam(1e-4)
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_discriminator(real, noise):
    with tf.GradientTape() as tape:
        on_real, on_fake = discriminator(real), discriminator(generator(noise))
        loss = cross_entropy(tf.ones_like(on_real), on_real)
        loss += cross_entropy(tf.zeros_like(on_fake), on_fake)
    variables = discriminator.trainable_variables
    d_optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return loss


@tf.function
def train_generator(noise):
    with tf.GradientTape() as tape:
        judged = discriminator(generator(noise))
        loss = cross_entropy(tf.ones_like(judged), judged)
    variables = generator.trainable_variables
    g_optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return loss


def train(dataset, epochs):
    for epoch in range(epochs):
        for real in dataset:  # the loop
            noise = tf.random.normal((BATCH, NOISE))
            d_loss = train_discriminator(real, noise)  # line: discriminator
            g_loss = train_generator(noise)  # line: generator
        print(epoch, float(d_loss), float(g_loss))


data = np.random.default_rng(0).normal(size=(n * BATCH, SIZE)).astype("float32")
train(tf.data.Dataset.from_tensor_slices(data).shuffle(500).batch(BATCH), epochs=2)
