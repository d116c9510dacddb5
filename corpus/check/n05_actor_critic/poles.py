import numpy as np


class PoleBatch:
    """Simplified cart-pole, vectorised over n poles; a fallen pole starts anew."""

    OBS = 4
    ACTIONS = 2

    def __init__(self, n, seed):
        self.n = n
        self.rng = np.random.default_rng(seed)

    def _start(self, k):
        return self.rng.uniform(-0.05, 0.05, (k, 4)).astype("float32")

    def reset(self):
        self.state = self._start(self.n)
        return self.state.copy()

    def step(self, actions):
        x, v, a, w = self.state.T
        force = np.where(actions == 1, 10.0, -10.0)
        temp = (force + 0.05 * w**2 * np.sin(a)) / 1.1
        acc_a = (9.8 * np.sin(a) - np.cos(a) * temp) / (0.5 * (4 / 3 - 0.1 * np.cos(a) ** 2 / 1.1))
        acc_x = temp - 0.05 * acc_a * np.cos(a) / 1.1
        tau = 0.02
        self.state = np.stack(
            [x + tau * v, v + tau * acc_x, a + tau * w, w + tau * acc_a], axis=1
        ).astype("float32")
        done = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.21)
        reward = np.where(done, 0.0, 1.0).astype("float32")
        if done.any():
            self.state[done] = self._start(int(done.sum()))
        return self.state.copy(), reward, done
