import time
import numpy as np
import tensorflow as tf
import keras
from keras import layers

D, Z = 64, 8


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc = keras.Sequential([layers.Dense(128, activation="relu"), layers.Dense(2 * Z)])
        self.dec = keras.Sequential([layers.Dense(128, activation="relu"), layers.Dense(D)])

    def call(self, x):
        mu, lv = tf.split(self.enc(x), 2, axis=-1)
        z = mu + tf.exp(0.5 * lv) * tf.random.normal(tf.shape(mu))
        kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + lv - mu ** 2 - tf.exp(lv), -1))
        self.add_loss(0.1 * kl)
        return self.dec(z)


x = np.random.randn(8192, 4).astype("float32") @ np.random.randn(4, D).astype("float32")
vae = VAE()
vae.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
vae.fit(x, x, epochs=3, batch_size=128, verbose=2)

# importance-weighted likelihood of the held-out part
held = x[:120]
ll = []
for row in held:
    mu, lv = tf.split(vae.enc(row[None]), 2, axis=-1)
    w = []
    for k in range(30):
        eps = tf.random.normal(mu.shape)
        z = mu + tf.exp(0.5 * lv) * eps
        rec = vae.dec(z)
        logp = -0.5 * tf.reduce_sum((rec - row) ** 2) - 0.5 * tf.reduce_sum(z ** 2)
        logq = -0.5 * tf.reduce_sum(eps ** 2) - 0.5 * tf.reduce_sum(lv)
        w.append((logp - logq).numpy())
    ll.append(np.logaddexp.reduce(w) - np.log(len(w)))
print("log-likelihood", np.mean(ll))
