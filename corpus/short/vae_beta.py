#!/usr/bin/env python
# beta-VAE with a warm-up of beta (KL annealing)
import argparse

import numpy as np
import tensorflow as tf
from keras import Model, layers, ops, optimizers

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--latent", type=int, default=8)
parser.add_argument("--beta-max", type=float, default=4.0)
opt_args = parser.parse_args()


def mlp(n_in, n_out, depth=7, width=64, name=None):
    inp = layers.Input((n_in,))
    h = inp
    for _ in range(depth):
        h = layers.Dense(width)(h)
        h = layers.BatchNormalization()(h)
        h = layers.Activation("relu")(h)
    return Model(inp, layers.Dense(n_out)(h), name=name)


encoder = mlp(144, 2 * opt_args.latent, name="encoder")
decoder = mlp(opt_args.latent, 144, name="decoder")
weights = encoder.trainable_variables + decoder.trainable_variables
adam = optimizers.Adam(1e-3)
adam.build(weights)


@tf.function
def train_step(x, beta):
    with tf.GradientTape() as tape:
        mu, logvar = tf.split(encoder(x, training=True), 2, axis=1)
        z = mu + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mu))
        rec = decoder(z, training=True)
        rec_loss = tf.reduce_mean(tf.reduce_sum(tf.square(x - rec), axis=1))
        kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + logvar - mu**2 - tf.exp(logvar), axis=1))
        loss = rec_loss + beta * kl
    adam.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return rec_loss, kl


data = np.random.default_rng(0).random((opt_args.steps, 128, 144), dtype=np.float32)
for i in range(opt_args.steps):
    beta = opt_args.beta_max * i / opt_args.steps
    rec, kl = train_step(tf.constant(data[i]), beta)
    print(f"[{i:02d}] beta={beta:.2f} rec={float(rec):.2f} kl={float(kl):.3f}")
