import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


class VAE(tf.keras.Model):
    def __init__(self, latent=16):
        super().__init__()
        self.enc = tf.keras.Sequential([
            layers.Conv2D(32, 3, strides=2, padding='same', activation='relu'),
            layers.Conv2D(64, 3, strides=2, padding='same', activation='relu'),
            layers.Flatten(),
            layers.Dense(2 * latent),
        ])
        self.dec = tf.keras.Sequential([
            layers.Dense(7 * 7 * 32, activation='relu'),
            layers.Reshape((7, 7, 32)),
            layers.Conv2DTranspose(32, 3, strides=2, padding='same', activation='relu'),
            layers.Conv2DTranspose(1, 3, strides=2, padding='same'),
        ])

    def call(self, x):
        mu, logvar = tf.split(self.enc(x), 2, axis=-1)
        z = mu + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mu))
        return self.dec(z), mu, logvar


def main():
    tf.random.set_seed(11)
    data = np.random.rand(1200, 28, 28, 1).astype('float32')
    ds = tf.data.Dataset.from_tensor_slices(data).shuffle(1200).batch(64, drop_remainder=True)

    vae = VAE()
    opt = tf.keras.optimizers.Adam(1e-3)
    vae(data[:1])
    opt.build(vae.trainable_variables)

    @tf.function
    def train_step(x, beta):
        with tf.GradientTape() as tape:
            logits, mu, logvar = vae(x)
            rec = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), [1, 2, 3])
            kl = -0.5 * tf.reduce_sum(1 + logvar - mu ** 2 - tf.exp(logvar), axis=1)
            loss = tf.reduce_mean(rec + beta * kl)
        g = tape.gradient(loss, vae.trainable_variables)
        opt.apply_gradients(zip(g, vae.trainable_variables))
        return loss

    step, warmup = 0, 200
    for epoch in range(2):
        for x in ds:
            beta = min(1.0, step / warmup)
            loss = train_step(x, beta)
            step += 1
        print('epoch', epoch, 'loss', float(loss), 'beta', beta)


if __name__ == '__main__':
    main()
