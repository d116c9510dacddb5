# EXPECT cause=retrace-python-args file=train.py line=36
# WHY anneal() hands a fresh Python float to a tf.function in every step: one trace per step
"""Knowledge distillation with a falling temperature."""
import time

import numpy as np
import tensorflow as tf

L = tf.keras.layers


class Distiller:
    def __init__(self, n_in, n_out, total):
        self.teacher = tf.keras.Sequential([tf.keras.Input((n_in,)), L.Dense(64, activation="relu"), L.Dense(n_out)])
        self.student = tf.keras.Sequential([tf.keras.Input((n_in,)), L.Dense(20, activation="relu"), L.Dense(20, activation="relu"), L.Dense(n_out)])
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.opt.build(self.student.trainable_variables)
        self.total = total

    def temperature(self, k):
        return 8.0 - 7.0 * k / self.total

    @tf.function
    def _step(self, x, y, temp):
        soft = tf.nn.softmax(self.teacher(x) / temp)
        with tf.GradientTape() as tape:
            z = self.student(x, training=True)
            hard = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, z))
            loss = hard + tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(soft, z / temp)) * temp ** 2
        v = self.student.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss

    def anneal(self, batches):
        for k, (x, y) in enumerate(batches):
            loss = self._step(x, y, self.temperature(k))
        return loss


rng = np.random.default_rng(33)
feats = rng.standard_normal((48 * 64, 36)).astype("float32")
cls = rng.integers(0, 9, 48 * 64)
data = tf.data.Dataset.from_tensor_slices((feats, cls)).batch(64).prefetch(2)
d = Distiller(36, 9, total=48)
t0 = time.time()
print("loss", float(d.anneal(data)))
print(f"training took {time.time() - t0:.1f} s")
