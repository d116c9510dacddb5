import numpy as np
import tensorflow as tf
from tensorflow import GradientTape as Tape

D = tf.keras.layers.Dense


class VAE(tf.keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.e1, self.e2, self.mu, self.lv = D(96, "relu"), D(96, "relu"), D(latent), D(latent)
        self.d1, self.d2, self.out = D(96, "relu"), D(96, "relu"), D(60)

    def call(self, x):
        h = self.e2(self.e1(x))
        mu, lv = self.mu(h), self.lv(h)
        z = mu + tf.exp(0.5 * lv) * tf.random.normal(tf.shape(mu))
        return self.out(self.d2(self.d1(z))), mu, lv


class Fitter:
    def __init__(self, net):
        self.net = net
        net(tf.zeros((1, 60)))
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.opt.build(net.trainable_variables)
        self.last = None

    def update(self, x):
        with Tape() as t:
            rec, mu, lv = self.net(x)
            kl = -0.5 * tf.reduce_mean(1 + lv - mu ** 2 - tf.exp(lv))
            loss = tf.reduce_mean((rec - x) ** 2) + 0.01 * kl
        v = self.net.trainable_variables
        self.opt.apply_gradients(zip(t.gradient(loss, v), v))
        return loss

    def run(self, data):
        for x in data:
            self.last = self.update(x)


def samples(n, batch):
    d = np.random.default_rng(11).normal(size=(n, 60)).astype("float32")
    return tf.data.Dataset.from_tensor_slices(d).batch(batch).prefetch(2)
