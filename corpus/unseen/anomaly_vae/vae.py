import keras
import tensorflow as tf
from keras import layers


class VAE(keras.Model):
    def __init__(self, size, latent=24, beta=0.5, **kw):
        super().__init__(**kw)
        self.beta = beta
        self.latent = latent
        self.encoder = keras.Sequential([
            layers.Input((size, size, 1)),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.Conv2D(48, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(64, 3, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(2 * latent),
        ])
        s = size // 4
        self.decoder = keras.Sequential([
            layers.Input((latent,)),
            layers.Dense(s * s * 64, activation="relu"),
            layers.Reshape((s, s, 64)),
            layers.Conv2DTranspose(48, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(1, 3, padding="same"),
        ])
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.kl_tracker = keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.loss_tracker, self.kl_tracker]

    def call(self, x):
        mean, _ = tf.split(self.encoder(x), 2, axis=1)
        return self.decoder(mean)

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, logvar = tf.split(self.encoder(x, training=True), 2, axis=1)
            z = mean + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mean))
            rec = self.decoder(z, training=True)
            mse = tf.reduce_mean(tf.reduce_sum((rec - x) ** 2, axis=(1, 2, 3)))
            kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + logvar - mean ** 2 - tf.exp(logvar), axis=1))
            loss = mse + self.beta * kl
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        self.kl_tracker.update_state(kl)
        return {m.name: m.result() for m in self.metrics}
