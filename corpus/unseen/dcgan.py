#!/usr/bin/env python
"""Small DCGAN on procedurally drawn 'digits' (rings and bars)."""
import time
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers as L

LATENT = 32
BATCH = 32


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:28, :28]
    out = np.empty((n, 28, 28, 1), "float32")
    for i in range(n):
        r, cx, cy = rng.uniform(4, 10), *rng.uniform(10, 18, 2)
        d = np.hypot(xx - cx, yy - cy)
        out[i, ..., 0] = np.exp(-((d - r) ** 2) / 2.0)
    return out * 2 - 1


def make_generator():
    return keras.Sequential([
        keras.Input((LATENT,)), L.Dense(7 * 7 * 32), L.LeakyReLU(), L.Reshape((7, 7, 32)),
        L.Conv2DTranspose(16, 5, 2, "same"), L.LeakyReLU(),
        L.Conv2DTranspose(1, 5, 2, "same", activation="tanh")], name="G")


def make_discriminator():
    return keras.Sequential([
        keras.Input((28, 28, 1)), L.Conv2D(16, 5, 2, "same"), L.LeakyReLU(),
        L.Conv2D(32, 5, 2, "same"), L.LeakyReLU(), L.Flatten(), L.Dense(1)], name="D")


class GAN:
    def __init__(self):
        self.G, self.D = make_generator(), make_discriminator()
        self.g_opt = keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.d_opt = keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.g_opt.build(self.G.trainable_variables)
        self.d_opt.build(self.D.trainable_variables)
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def train_step(self, real, noise_std):
        z = tf.random.normal((tf.shape(real)[0], LATENT))
        with tf.GradientTape() as gt, tf.GradientTape() as dt:
            fake = self.G(z, training=True)
            # instance noise, annealed to zero
            rl = self.D(real + tf.random.normal(tf.shape(real)) * noise_std, training=True)
            fl = self.D(fake + tf.random.normal(tf.shape(fake)) * noise_std, training=True)
            d_loss = self.bce(tf.ones_like(rl), rl) + self.bce(tf.zeros_like(fl), fl)
            g_loss = self.bce(tf.ones_like(fl), fl)
        self.g_opt.apply_gradients(zip(gt.gradient(g_loss, self.G.trainable_variables), self.G.trainable_variables))
        self.d_opt.apply_gradients(zip(dt.gradient(d_loss, self.D.trainable_variables), self.D.trainable_variables))
        return g_loss, d_loss


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    ds = tf.data.Dataset.from_tensor_slices(draw(512)).shuffle(512, seed=0).batch(BATCH, drop_remainder=True)
    gan = GAN()
    total = 4 * 16
    it = 0
    for epoch in range(4):
        gl, dl = [], []
        for real in ds:
            noise_std = 0.1 * (1 - it / total)
            g, d = gan.train_step(real, noise_std)
            gl.append(g)
            dl.append(d)
            it += 1
        print(f"epoch {epoch + 1}: g {np.mean(gl):.3f} d {np.mean(dl):.3f}")
