# EXPECT: VAETrainer.train_step runs GradientTape eagerly (no @tf.function), one Python-dispatched op at a time
# TWIST: self.beta / self.global_step are plain Python numbers changed every step (KL warm-up); a naive @tf.function bakes beta=0 into the graph and never warms up
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

DATA = Path(__file__).resolve().parent / "data" / "vae_tape_method" / "faces.npy"


def get_patches(n=1024, size=12):
    if not DATA.exists():
        from skimage import data
        from skimage.transform import rescale
        DATA.parent.mkdir(parents=True, exist_ok=True)
        img = rescale(data.astronaut().mean(-1) / 255.0, 0.5)
        rng = np.random.default_rng(0)
        ij = rng.integers(0, img.shape[0] - size, (n, 2))
        np.save(DATA, np.stack([img[i:i + size, j:j + size].ravel() for i, j in ij]).astype("float32"))
    return np.load(DATA)


class VAETrainer:
    """beta-VAE with linear KL annealing (Bowman et al., 2016)."""

    def __init__(self, dim, latent=6, warmup=100, lr=1e-3):
        self.encoder = keras.Sequential([keras.Input((dim,)), keras.layers.Dense(64, activation="relu"),
                                         keras.layers.Dense(2 * latent)])
        self.decoder = keras.Sequential([keras.Input((latent,)), keras.layers.Dense(64, activation="relu"),
                                         keras.layers.Dense(dim)])
        self.opt = keras.optimizers.Adam(lr)
        self.warmup = warmup
        self.global_step = 0
        self.beta = 0.0

    @property
    def variables(self):
        return self.encoder.trainable_variables + self.decoder.trainable_variables

    def train_step(self, x):
        self.beta = min(1.0, self.global_step / self.warmup)
        with tf.GradientTape() as tape:
            mu, logvar = tf.split(self.encoder(x, training=True), 2, axis=-1)
            z = mu + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mu))
            rec = tf.reduce_mean(tf.reduce_sum(tf.square(self.decoder(z, training=True) - x), -1))
            kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + logvar - mu ** 2 - tf.exp(logvar), -1))
            loss = rec + self.beta * 0.1 * kl
        grads = tape.gradient(loss, self.variables)
        self.opt.apply_gradients(zip(grads, self.variables))
        self.global_step += 1
        return rec, kl

    def fit(self, x, epochs, batch_size):
        ds = tf.data.Dataset.from_tensor_slices(x).shuffle(len(x), seed=1).batch(batch_size, drop_remainder=True)
        for epoch in range(1, epochs + 1):
            recs, kls = [], []
            for batch in ds:
                rec, kl = self.train_step(batch)
                recs.append(rec)
                kls.append(kl)
            print(f"[{epoch:3d}/{epochs}] rec={np.mean(recs):.4f} kl={np.mean(kls):.4f} "
                  f"beta={self.beta:.2f} step={self.global_step}")


if __name__ == "__main__":
    keras.utils.set_random_seed(20)
    patches = get_patches()
    print("patches", patches.shape)
    trainer = VAETrainer(patches.shape[1])
    trainer.fit(patches, epochs=5, batch_size=32)
