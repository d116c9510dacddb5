# EXPECT none
# NOTE subclassed autoencoder with its own train_step and metric trackers
import keras
import numpy as np
import tensorflow as tf


class SparseAE(keras.Model):
    def __init__(self, dim, code):
        super().__init__()
        self.enc = keras.Sequential([keras.layers.Dense(768, activation="relu"), keras.layers.Dense(code, activation="relu")])
        self.dec = keras.Sequential([keras.layers.Dense(768, activation="relu"), keras.layers.Dense(dim)])
        self.rec_tracker = keras.metrics.Mean(name="rec")
        self.l1_tracker = keras.metrics.Mean(name="l1")

    @property
    def metrics(self):
        return [self.rec_tracker, self.l1_tracker]

    def call(self, x):
        return self.dec(self.enc(x))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            code = self.enc(x)
            rec = tf.reduce_mean(tf.square(self.dec(code) - x))
            l1 = tf.reduce_mean(tf.abs(code))
            loss = rec + 1e-3 * l1
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        self.rec_tracker.update_state(rec)
        self.l1_tracker.update_state(l1)
        return {m.name: m.result() for m in self.metrics}


data = np.random.default_rng(5).normal(size=(32000, 144)).astype("float32")
ae = SparseAE(144, 32)
ae.compile(optimizer=keras.optimizers.Adam(1e-3))
ae.fit(tf.data.Dataset.from_tensor_slices(data).shuffle(8000).batch(64).prefetch(2), epochs=14, verbose=2)
