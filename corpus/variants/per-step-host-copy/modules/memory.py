import numpy as np
import tensorflow as tf


class Replay:
    def __init__(self, capacity, shape):
        r = np.random.default_rng(7)
        self.items = [(r.random(shape), int(r.integers(0, 6)), float(r.random())) for _ in range(capacity)]
        self.rng = r

    def sample(self, n):
        chosen = [self.items[i] for i in self.rng.integers(0, len(self.items), n)]
        states = tf.convert_to_tensor(np.array([c[0] for c in chosen], dtype=np.float32))
        actions = tf.convert_to_tensor(np.array([c[1] for c in chosen]))
        rewards = tf.convert_to_tensor(np.array([c[2] for c in chosen], dtype=np.float32))
        return states, actions, rewards
