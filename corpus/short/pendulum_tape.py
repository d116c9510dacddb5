"""Neural ODE for a damped pendulum (RK4 through the network)."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, optimizers

tf.random.set_seed(0)
DT = 0.02
HORIZON = 160
TRAIN_STEPS = 8


def true_trajectories(batch, steps):
    rng = np.random.default_rng(0)
    s = rng.uniform(-1.5, 1.5, (batch, 2))
    traj = [s]
    for _ in range(steps):
        theta, omega = s[:, 0], s[:, 1]
        ds = np.stack([omega, -9.81 * np.sin(theta) - 0.2 * omega], axis=1)
        s = s + DT * ds
        traj.append(s)
    return tf.constant(np.stack(traj), tf.float32)


class Dynamics(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(50, activation="tanh")
        self.hidden2 = layers.Dense(50, activation="tanh")
        self.out = layers.Dense(2)

    def call(self, s):
        return self.out(self.hidden2(self.hidden(s)))


def rk4_step(f, s):
    k1 = f(s)
    k2 = f(s + 0.5 * DT * k1)
    k3 = f(s + 0.5 * DT * k2)
    k4 = f(s + DT * k3)
    return s + DT / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)


def train_step(f, opt, target):
    with tf.GradientTape() as tape:
        s = target[0]
        loss = 0.0
        for t in range(1, HORIZON + 1):
            s = rk4_step(f, s)
            loss += tf.reduce_mean(tf.square(s - target[t]))
        loss /= HORIZON
    grads = tape.gradient(loss, f.trainable_variables)
    opt.apply_gradients(zip(grads, f.trainable_variables))
    return loss


if __name__ == "__main__":
    target = true_trajectories(32, HORIZON)
    f = Dynamics()
    opt = optimizers.Adam(5e-3)
    for step in range(TRAIN_STEPS):
        loss = train_step(f, opt, target)
        print(f"step {step:3d}  loss {float(loss):.4f}")
