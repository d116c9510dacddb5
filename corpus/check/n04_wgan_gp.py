# EXPECT none
# NOTE healthy GAN: custom loop over a compiled step, metrics kept on the device, sample pictures and checkpoint once per epoch
# SEEN ran to the end (rc 0), no complaint of its own
"""WGAN-GP on 16x16 glyphs, hand-written loop with checkpoints."""
import argparse
import pathlib
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image

from tensorflow import keras
from tensorflow.keras import layers

LATENT = 32
SIDE = 16


def glyphs(n, seed=0):
    rng = np.random.default_rng(seed)
    x = np.full((n, SIDE, SIDE, 1), -1.0, dtype="float32")
    for i in range(n):
        r, c = rng.integers(3, SIDE - 3, 2)
        if rng.random() < 0.5:
            x[i, r - 2:r + 3, c] = 1.0
            x[i, r, c - 2:c + 3] = 1.0
        else:
            x[i, r - 2:r + 3, c - 2:c + 3] = 1.0
    return x


def build_generator():
    return keras.Sequential(
        [
            keras.Input((LATENT,)),
            layers.Dense(4 * 4 * 32, use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Reshape((4, 4, 32)),
            layers.Conv2DTranspose(16, 4, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
        ],
        name="generator",
    )


def build_critic():
    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(16, 4, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Conv2D(32, 4, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Flatten(),
            layers.Dense(1),
        ],
        name="critic",
    )


class WGAN:
    def __init__(self, lr=1e-4, gp_weight=10.0, critic_steps=2):
        self.generator = build_generator()
        self.critic = build_critic()
        self.g_opt = keras.optimizers.Adam(lr, beta_1=0.0, beta_2=0.9)
        self.c_opt = keras.optimizers.Adam(lr, beta_1=0.0, beta_2=0.9)
        self.g_opt.build(self.generator.trainable_variables)
        self.c_opt.build(self.critic.trainable_variables)
        self.gp_weight = gp_weight
        self.critic_steps = critic_steps
        self.g_loss = keras.metrics.Mean(name="g")
        self.c_loss = keras.metrics.Mean(name="c")

    def gradient_penalty(self, real, fake):
        mix = tf.random.uniform((tf.shape(real)[0], 1, 1, 1))
        inter = mix * real + (1.0 - mix) * fake
        with tf.GradientTape() as tape:
            tape.watch(inter)
            score = self.critic(inter, training=True)
        grad = tape.gradient(score, inter)
        norm = tf.sqrt(tf.reduce_sum(tf.square(grad), axis=[1, 2, 3]) + 1e-12)
        return tf.reduce_mean(tf.square(norm - 1.0))

    @tf.function
    def train_step(self, real):
        batch = tf.shape(real)[0]
        for _ in range(self.critic_steps):
            noise = tf.random.normal((batch, LATENT))
            fake = self.generator(noise, training=True)
            with tf.GradientTape() as tape:
                loss = (
                    tf.reduce_mean(self.critic(fake, training=True))
                    - tf.reduce_mean(self.critic(real, training=True))
                    + self.gp_weight * self.gradient_penalty(real, fake)
                )
            grads = tape.gradient(loss, self.critic.trainable_variables)
            self.c_opt.apply_gradients(zip(grads, self.critic.trainable_variables))
            self.c_loss.update_state(loss)

        noise = tf.random.normal((batch, LATENT))
        with tf.GradientTape() as tape:
            fake = self.generator(noise, training=True)
            loss = -tf.reduce_mean(self.critic(fake, training=True))
        grads = tape.gradient(loss, self.generator.trainable_variables)
        self.g_opt.apply_gradients(zip(grads, self.generator.trainable_variables))
        self.g_loss.update_state(loss)

    def reset(self):
        for m in (self.g_loss, self.c_loss):
            m.reset_state()

    def sample_sheet(self, noise, path):
        images = self.generator(noise, training=False).numpy()
        k = int(np.sqrt(len(images)))
        rows = [np.concatenate(list(images[r * k:(r + 1) * k, :, :, 0]), axis=1) for r in range(k)]
        sheet = np.concatenate(rows, axis=0)
        Image.fromarray(((sheet + 1) * 127.5).clip(0, 255).astype("uint8")).save(path)


def train(args, out):
    keras.utils.set_random_seed(args.seed)
    gan = WGAN()
    ds = (
        tf.data.Dataset.from_tensor_slices(glyphs(args.samples))
        .shuffle(args.samples, seed=args.seed)
        .batch(args.batch, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    fixed_noise = tf.random.normal((16, LATENT))
    for epoch in range(1, args.epochs + 1):
        tic = time.perf_counter()
        gan.reset()
        for real in ds:
            gan.train_step(real)
        print(
            f"epoch {epoch}: critic {float(gan.c_loss.result()):.3f}"
            f"  generator {float(gan.g_loss.result()):.3f}"
            f"  {time.perf_counter() - tic:.1f}s"
        )
        gan.sample_sheet(fixed_noise, out / f"epoch_{epoch:03d}.png")
        gan.generator.save_weights(out / f"generator_{epoch:03d}.weights.h5")
    gan.generator.save(out / "generator.keras")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    with tempfile.TemporaryDirectory() as folder:
        train(parser.parse_args(), pathlib.Path(folder))
