"""Few, long steps."""
import argparse
import numpy as np
import tensorflow as tf
from model import unet


class Denoiser:
    def __init__(self, size, base):
        self.net = unet(size, base)
        self.opt = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def step(self, clean):
        noisy = clean + tf.random.normal(tf.shape(clean), stddev=0.2)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(noisy, training=True) - clean))
        self.opt.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables))
        return loss


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--size", type=int, default=128)
    ap.add_argument("--steps", type=int, default=12)
    a = ap.parse_args()
    den = Denoiser(a.size, 24)
    imgs = np.random.default_rng(0).random((96, a.size, a.size, 1), dtype="float32")
    for s in range(a.steps):
        batch = imgs[np.random.choice(len(imgs), 32, replace=False)]
        print("step", s, float(den.step(tf.constant(batch))))
