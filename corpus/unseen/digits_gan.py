"""Small GAN on synthetic 16x16 glyphs with an instance-noise schedule."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(21)

LATENT = 32
BATCH = 32
STEPS = 15


def glyphs(n=2048):
    rng = np.random.default_rng(0)
    x = np.zeros((n, 16, 16, 1), "float32")
    for i in range(n):
        a, b = rng.integers(2, 8, 2)
        x[i, a:a + 7, b:b + 2] = 1
        x[i, a + 3:a + 5, b:b + 7] = 1
    return x * 2 - 1


generator = keras.Sequential([
    layers.Input((LATENT,)),
    layers.Dense(4 * 4 * 32),
    layers.Reshape((4, 4, 32)),
    layers.Conv2DTranspose(32, 4, strides=2, padding="same"),
    layers.BatchNormalization(),
    layers.LeakyReLU(0.2),
    layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
])
discriminator = keras.Sequential([
    layers.Input((16, 16, 1)),
    layers.Conv2D(32, 4, strides=2, padding="same"),
    layers.LeakyReLU(0.2),
    layers.Conv2D(64, 4, strides=2, padding="same"),
    layers.LeakyReLU(0.2),
    layers.Flatten(),
    layers.Dense(1),
])
g_opt = keras.optimizers.Adam(2e-4, beta_1=0.5)
d_opt = keras.optimizers.Adam(2e-4, beta_1=0.5)
g_opt.build(generator.trainable_variables)
d_opt.build(discriminator.trainable_variables)
bce = keras.losses.BinaryCrossentropy(from_logits=True)


class NoiseSchedule:
    def __init__(self, start, steps):
        self.start, self.steps = start, steps

    def at(self, step):
        return self.start * (1.0 - step / self.steps)


@tf.function
def train_step(real, noise_std):
    z = tf.random.normal((BATCH, LATENT))
    with tf.GradientTape() as gt, tf.GradientTape() as dt:
        fake = generator(z, training=True)
        r = discriminator(real + tf.random.normal(tf.shape(real), stddev=noise_std), training=True)
        f = discriminator(fake + tf.random.normal(tf.shape(fake), stddev=noise_std), training=True)
        d_loss = bce(tf.ones_like(r) * 0.9, r) + bce(tf.zeros_like(f), f)
        g_loss = bce(tf.ones_like(f), f)
    g_opt.apply_gradients(zip(gt.gradient(g_loss, generator.trainable_variables), generator.trainable_variables))
    d_opt.apply_gradients(zip(dt.gradient(d_loss, discriminator.trainable_variables), discriminator.trainable_variables))
    return d_loss, g_loss


def main():
    ds = tf.data.Dataset.from_tensor_slices(glyphs()).shuffle(2048).repeat().batch(BATCH).prefetch(2)
    schedule = NoiseSchedule(0.3, STEPS)
    for step, real in enumerate(ds.take(STEPS)):
        d_loss, g_loss = train_step(real, schedule.at(step))
        if step % 4 == 0:
            print(f"step {step:4d}  d {float(d_loss):.3f}  g {float(g_loss):.3f}")
    print("done")


if __name__ == "__main__":
    main()
