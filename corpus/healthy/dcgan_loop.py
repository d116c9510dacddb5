"""DCGAN with two optimizers: loop over a dataset, the whole update in one tf.function."""
import time

import numpy as np
import tensorflow as tf

L = tf.keras.layers
Z, BATCH = 64, 32


def generator():
    return tf.keras.Sequential([
        tf.keras.Input((Z,)), L.Dense(7 * 7 * 96, use_bias=False), L.BatchNormalization(), L.LeakyReLU(), L.Reshape((7, 7, 96)),
        L.Conv2DTranspose(64, 5, padding="same", use_bias=False), L.BatchNormalization(), L.LeakyReLU(),
        L.Conv2DTranspose(32, 5, strides=2, padding="same", use_bias=False), L.BatchNormalization(), L.LeakyReLU(),
        L.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh")])


def discriminator():
    return tf.keras.Sequential([
        tf.keras.Input((28, 28, 1)), L.Conv2D(32, 5, strides=2, padding="same"), L.LeakyReLU(), L.Dropout(0.3),
        L.Conv2D(64, 5, strides=2, padding="same"), L.LeakyReLU(), L.Dropout(0.3), L.Flatten(), L.Dense(1)])


G, D = generator(), discriminator()
g_opt, d_opt = tf.keras.optimizers.Adam(1e-4), tf.keras.optimizers.Adam(1e-4)
g_opt.build(G.trainable_variables)
d_opt.build(D.trainable_variables)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
g_mean, d_mean = tf.keras.metrics.Mean(), tf.keras.metrics.Mean()


@tf.function
def train_step(real):
    noise = tf.random.normal((BATCH, Z))
    with tf.GradientTape() as gt, tf.GradientTape() as dt:
        fake = G(noise, training=True)
        r, f = D(real, training=True), D(fake, training=True)
        g_loss = bce(tf.ones_like(f), f)
        d_loss = bce(tf.ones_like(r), r) + bce(tf.zeros_like(f), f)
    g_opt.apply_gradients(zip(gt.gradient(g_loss, G.trainable_variables), G.trainable_variables))
    d_opt.apply_gradients(zip(dt.gradient(d_loss, D.trainable_variables), D.trainable_variables))
    g_mean.update_state(g_loss)
    d_mean.update_state(d_loss)


digits = np.random.default_rng(204).uniform(-1, 1, (1280, 28, 28, 1)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices(digits).shuffle(1280).batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
seed = tf.random.normal((4, Z))
t0 = time.time()
for epoch in range(8):
    g_mean.reset_state()
    d_mean.reset_state()
    for real in ds:
        train_step(real)
    sample = G(seed, training=False)
    print(f"epoch {epoch}: G {float(g_mean.result()):.3f} D {float(d_mean.result()):.3f} sample mean {float(tf.reduce_mean(sample)):.3f}")
print(f"training took {time.time() - t0:.1f} s")
