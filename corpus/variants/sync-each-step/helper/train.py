# EXPECT cause=sync-each-step file=train.py line=16
# WHY RunLog.add turns the loss and each residual into a Python number after every step
"""Fit a bond curve; keeps a log of everything, for the appendix."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


class RunLog:
    def __init__(self):
        self.rows = []

    def add(self, loss, residuals):
        self.rows.append([float(loss)] + [abs(float(e)) for e in residuals])

    def last(self):
        return self.rows[-1]


class CurveFitter:
    def __init__(self, log):
        self.log = log
        self.net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(12, activation="tanh"), keras.layers.Dense(12, activation="tanh"), keras.layers.Dense(1)])
        self.opt = keras.optimizers.SGD(0.02)
        self.opt.build(self.net.trainable_variables)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            err = self.net(x, training=True) - y
            loss = tf.reduce_mean(err ** 2)
        v = self.net.trainable_variables
        g = tape.gradient(loss, v)
        self.opt.apply_gradients(zip(g, v))
        return loss, err[:, 0]

    def run(self, ds, epochs):
        for e in range(epochs):
            for x, y in ds:
                self.log.add(*self.step(x, y))
            print(e, self.log.last()[0])


rng = np.random.default_rng(20)
maturity = rng.uniform(0, 30, (20000, 3)).astype("float32")
rate = np.log1p(maturity.sum(1, keepdims=True)) * 0.02
bonds = tf.data.Dataset.from_tensor_slices((maturity / 30, rate)).batch(40).cache().prefetch(4)
fitter = CurveFitter(RunLog())
t0 = time.perf_counter()
fitter.run(bonds, 4)
print(f"training took {time.perf_counter() - t0:.1f} s")
