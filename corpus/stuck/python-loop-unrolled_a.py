# EXPECT stuck=python-loop-unrolled line=20 also=21,22,37
# NOTE the ODE is integrated by a Python for-loop of 20000 iterations inside call(), unrolled at trace time: the first step waits for minutes of tracing. (Also fair: lines 21, 22, 37.)
import numpy as np
import tensorflow as tf
import keras


class PendulumODE(keras.Model):
    """Neural ODE: integrates dz/dt = f(z) with Euler steps, t in [0, 2]."""

    def __init__(self, hidden=8, n_steps=20000):
        super().__init__()
        self.n_steps = n_steps
        self.dt = 2.0 / n_steps
        self.w_in = self.add_weight(shape=(2, hidden), initializer="glorot_uniform", name="w_in")
        self.w_out = self.add_weight(shape=(hidden, 2), initializer="zeros", name="w_out")

    def call(self, z):
        w_in, w_out = tf.convert_to_tensor(self.w_in), tf.convert_to_tensor(self.w_out)
        for k in range(self.n_steps):
            dz = tf.matmul(tf.tanh(tf.matmul(z, w_in)), w_out)
            z = z + self.dt * dz
        return z


def pendulum_pairs(n):
    rng = np.random.default_rng(0)
    start = rng.uniform(-1, 1, size=(n, 2)).astype("float32")
    c, s = np.cos(2.0), np.sin(2.0)
    return start, (start @ np.array([[c, -s], [s, c]])).astype("float32")


x, y = pendulum_pairs(256)
ode = PendulumODE()
ode.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
print("fit")
ode.fit(x, y, batch_size=32, epochs=2)
