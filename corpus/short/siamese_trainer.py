"""Siamese network, class based trainer."""
import numpy as np
import tensorflow as tf
from tensorflow import keras


class SiameseTrainer:
    def __init__(self, dim=48, margin=1.0, lr=1e-3):
        self.margin = margin
        self.net = self._make_net(dim)
        self.opt = keras.optimizers.Adam(lr)
        self.opt.build(self.net.trainable_variables)
        self.log = []

    @staticmethod
    def _make_net(dim):
        inp = keras.Input((32, 32, 1))
        h = inp
        for ch in (8, 8, 16, 16, 24, 24):
            h = keras.layers.Conv2D(ch, 3, padding="same")(h)
            h = keras.layers.BatchNormalization()(h)
            h = keras.layers.ReLU()(h)
        h = keras.layers.GlobalAveragePooling2D()(h)
        return keras.Model(inp, keras.layers.Dense(dim)(h))

    def _loss(self, a, b, same):
        d = tf.sqrt(tf.reduce_sum(tf.square(self.net(a, training=True) - self.net(b, training=True)), 1) + 1e-6)
        return tf.reduce_mean(same * d**2 + (1 - same) * tf.square(tf.maximum(0.0, self.margin - d)))

    def optimise(self, a, b, same):
        @tf.function
        def step(a, b, same):
            with tf.GradientTape() as tape:
                loss = self._loss(a, b, same)
            g = tape.gradient(loss, self.net.trainable_variables)
            self.opt.apply_gradients(zip(g, self.net.trainable_variables))
            return loss

        return step(a, b, same)

    def run(self, pairs, steps):
        for k in range(steps):
            a, b, same = pairs(k)
            loss = self.optimise(a, b, same)
            self.log.append(float(loss))
            print(f"step {k + 1}/{steps} contrastive loss {self.log[-1]:.4f}")


def random_pairs(k, n=8):
    r = np.random.default_rng(k)
    a = r.random((n, 32, 32, 1), dtype=np.float32)
    same = (r.random(n) > 0.5).astype("float32")
    b = np.where(same[:, None, None, None] > 0, a + 0.05, r.random(a.shape, dtype=np.float32)).astype("float32")
    return tf.constant(a), tf.constant(b), tf.constant(same)


if __name__ == "__main__":
    SiameseTrainer().run(random_pairs, steps=12)
