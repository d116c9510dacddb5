# EXPECT none
# NOTE small GAN with two models and two optimizers in a tf.function
import numpy as np
import tensorflow as tf


class GAN:
    def __init__(self, noise=16):
        self.noise = noise
        L = tf.keras.layers
        self.G = tf.keras.Sequential([L.Input((noise,)), L.Dense(128), L.LeakyReLU(), L.Dense(128), L.LeakyReLU(), L.Dense(64, activation="tanh")])
        self.D = tf.keras.Sequential([L.Input((64,)), L.Dense(128), L.LeakyReLU(), L.Dense(128), L.LeakyReLU(), L.Dense(1)])
        self.g_opt = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.d_opt = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def step(self, real):
        z = tf.random.normal((tf.shape(real)[0], self.noise))
        with tf.GradientTape() as gt, tf.GradientTape() as dt:
            fake = self.G(z, training=True)
            r, f = self.D(real, training=True), self.D(fake, training=True)
            g_loss = self.bce(tf.ones_like(f), f)
            d_loss = self.bce(tf.ones_like(r), r) + self.bce(tf.zeros_like(f), f)
        self.g_opt.apply_gradients(zip(gt.gradient(g_loss, self.G.trainable_variables), self.G.trainable_variables))
        self.d_opt.apply_gradients(zip(dt.gradient(d_loss, self.D.trainable_variables), self.D.trainable_variables))
        return g_loss, d_loss


def real_samples(n):
    t = np.linspace(0, 6.28, 64)
    ph = np.random.rand(n, 1) * 6.28
    return (0.8 * np.sin(t + ph)).astype("float32")


if __name__ == "__main__":
    gan = GAN()
    ds = tf.data.Dataset.from_tensor_slices(real_samples(32000)).shuffle(32000).batch(64, drop_remainder=True).prefetch(2)
    for epoch in range(15):
        gl, dl = tf.keras.metrics.Mean(), tf.keras.metrics.Mean()
        for batch in ds:
            g, d = gan.step(batch)
            gl.update_state(g)
            dl.update_state(d)
        print(f"epoch {epoch} G {gl.result():.3f} D {dl.result():.3f}")
