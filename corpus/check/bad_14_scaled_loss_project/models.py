"""Denoising autoencoder with its own train_step."""
import keras
import tensorflow as tf
from keras import layers


class Denoiser(keras.Model):
    def __init__(self, width=32, noise=0.1, **kwargs):
        super().__init__(**kwargs)
        self.noise = noise
        self.encoder = layers.Dense(width, activation="relu")
        self.decoder = layers.Dense(16, dtype="float32")
        self.loss_tracker = keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        return self.decoder(self.encoder(x))

    @property
    def metrics(self):
        return [self.loss_tracker]

    def train_step(self, data):
        x = data
        noisy = x + tf.random.normal(tf.shape(x), stddev=self.noise)
        with tf.GradientTape() as tape:
            restored = self(noisy, training=True)
            loss = tf.reduce_mean(tf.square(x - restored))
            scaled = self.optimizer.get_scaled_loss(loss)
        grads = tape.gradient(scaled, self.trainable_variables)
        grads = self.optimizer.get_unscaled_gradients(grads)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}
