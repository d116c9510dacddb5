# EXPECT cause=labels-broadcast-in-loss file=train.py line=11
# WHY prices (b,) minus predictions (b,1) gives (b,b): 6 million errors instead of 2500 in pinball()
"""House prices: the 0.8 quantile with a small net, own training class."""
import time

import numpy as np
import tensorflow as tf


def pinball(truth, q_hat, tau=0.8):
    diff = truth - q_hat
    return tf.reduce_mean(tf.maximum(tau * diff, (tau - 1.0) * diff))


class QuantileTrainer:
    def __init__(self, n_features: int, lr: float = 1e-3):
        self.net = tf.keras.Sequential([
            tf.keras.Input((n_features,)),
            tf.keras.layers.Dense(24, activation="selu"),
            tf.keras.layers.Dense(24, activation="selu"),
            tf.keras.layers.Dense(1),
        ])
        self.opt = tf.keras.optimizers.Adam(lr)
        self.opt.build(self.net.trainable_variables)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = pinball(y, self.net(x, training=True))
        v = self.net.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss

    def train(self, ds, epochs):
        for e in range(epochs):
            for x, y in ds:
                loss = self.step(x, y)
            print(f"epoch {e}: {float(loss):.4f}")


rng = np.random.default_rng(55)
X = rng.standard_normal((20000, 13)).astype("float32")
price = (X @ rng.standard_normal(13) + rng.standard_normal(20000)).astype("float32")
houses = tf.data.Dataset.from_tensor_slices((X, price)).batch(2500).cache().prefetch(2)
t0 = time.perf_counter()
QuantileTrainer(13).train(houses, epochs=30)
print(f"training took {time.perf_counter() - t0:.1f} s")
