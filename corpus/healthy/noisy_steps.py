"""Recurrent refinement: the number of unrolled refinements is drawn per batch, so step times differ a lot."""
import time

import numpy as np
import tensorflow as tf

keras = tf.keras
rng = np.random.default_rng(5)
data = rng.normal(size=(4096, 256)).astype("float32")
goal = np.tanh(data[:, ::-1]).astype("float32")


class Refiner(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc = keras.layers.Dense(768, activation="relu")
        self.cell = keras.layers.Dense(768, activation="tanh")
        self.dec = keras.layers.Dense(256)

    def call(self, x, training=False):
        h = self.enc(x)
        n = tf.random.uniform((), 1, 20, dtype=tf.int32) if training else tf.constant(8)
        i = tf.constant(0)
        _, h = tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, h + 0.1 * self.cell(h)), (i, h))
        return self.dec(h)


net = Refiner()
net(data[:2])
net.cell(tf.zeros((1, 768)))
net.compile(optimizer=keras.optimizers.Adam(3e-4), loss="mse")
ds = tf.data.Dataset.from_tensor_slices((data, goal)).shuffle(4096).batch(128, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
start = time.perf_counter()
net.fit(ds, epochs=8, verbose=2)
print(f"training took {time.perf_counter() - start:.1f} s")
