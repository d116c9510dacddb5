"""Toy GAN on a ring of Gaussians."""
import numpy as np
import tensorflow as tf
from tensorflow import keras


def mlp(n_in, n_out, width=48, depth=3):
    m = keras.Sequential([keras.Input((n_in,))])
    for _ in range(depth):
        m.add(keras.layers.Dense(width))
        m.add(keras.layers.LeakyReLU())
    m.add(keras.layers.Dense(n_out))
    return m


def ring(n, batch):
    a = np.random.default_rng(1).uniform(0, 2 * np.pi, n)
    pts = np.stack([np.cos(a), np.sin(a)], 1).astype("float32")
    return tf.data.Dataset.from_tensor_slices(pts).batch(batch).prefetch(tf.data.AUTOTUNE)


class Adversary:
    def __init__(self, noise):
        self.noise = noise
        self.G, self.D = mlp(noise, 2), mlp(2, 1)
        self.g_opt, self.d_opt = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(4e-4)
        self.g_opt.build(self.G.trainable_variables)
        self.d_opt.build(self.D.trainable_variables)
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    def update(self, real):
        z = tf.random.normal((real.shape[0], self.noise))
        with tf.GradientTape(persistent=True) as tape:
            fake = self.G(z, training=True)
            r, f = self.D(real, training=True), self.D(fake, training=True)
            d_loss = self.bce(tf.ones_like(r), r) + self.bce(tf.zeros_like(f), f)
            g_loss = self.bce(tf.ones_like(f), f)
        self.d_opt.apply_gradients(zip(tape.gradient(d_loss, self.D.trainable_variables), self.D.trainable_variables))
        self.g_opt.apply_gradients(zip(tape.gradient(g_loss, self.G.trainable_variables), self.G.trainable_variables))
        return d_loss, g_loss
