"""SimCLR-like contrastive model: own train_step and metrics in a Model subclass, fit() as usual."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


class Contrastive(keras.Model):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature
        self.encoder = keras.Sequential([keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(256)])
        self.head = keras.Sequential([keras.layers.Dense(256, activation="relu"), keras.layers.Dense(64)])
        self.loss_tracker = keras.metrics.Mean(name="nt_xent")

    @property
    def metrics(self):
        return [self.loss_tracker]

    def call(self, x, training=False):
        return self.head(self.encoder(x, training=training), training=training)

    def train_step(self, x):
        a = x + tf.random.normal(tf.shape(x), stddev=0.2)
        b = x * tf.cast(tf.random.uniform(tf.shape(x)) > 0.2, tf.float32)
        with tf.GradientTape() as tape:
            za = tf.math.l2_normalize(self(a, training=True), axis=1)
            zb = tf.math.l2_normalize(self(b, training=True), axis=1)
            logits = tf.matmul(za, zb, transpose_b=True) / self.temperature
            y = tf.range(tf.shape(x)[0])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        v = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
        self.loss_tracker.update_state(loss)
        return {"nt_xent": self.loss_tracker.result()}


table = np.random.default_rng(203).standard_normal((6400, 400)).astype("float32")
model = Contrastive()
model(table[:2])
model.compile(optimizer=keras.optimizers.Adam(1e-3))
data = tf.data.Dataset.from_tensor_slices(table).shuffle(6400).batch(128, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
t0 = time.perf_counter()
model.fit(data, epochs=9, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
