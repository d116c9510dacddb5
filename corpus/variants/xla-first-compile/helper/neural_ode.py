"""Neural ODE with a fixed-step RK4 solver."""
import tensorflow as tf
from tensorflow import keras


class NeuralODE(keras.Model):
    def __init__(self, dim: int, hidden: int, n_steps: int):
        super().__init__()
        self.n_steps, self.h = n_steps, 1.0 / n_steps
        self.w1 = self.add_weight(shape=(dim, hidden), name="w1")
        self.b1 = self.add_weight(shape=(hidden,), initializer="zeros", name="b1")
        self.w2 = self.add_weight(shape=(hidden, dim), name="w2")

    def f(self, y, t, w1, b1, w2):
        return tf.matmul(tf.tanh(tf.matmul(y, w1) + b1 * (1.0 + t)), w2)

    def call(self, y):
        w = [tf.convert_to_tensor(v) for v in (self.w1, self.b1, self.w2)]
        h = self.h
        for k in range(self.n_steps):
            t = k * h
            k1 = self.f(y, t, *w)
            k2 = self.f(y + h / 2 * k1, t + h / 2, *w)
            k3 = self.f(y + h / 2 * k2, t + h / 2, *w)
            k4 = self.f(y + h * k3, t + h, *w)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y
