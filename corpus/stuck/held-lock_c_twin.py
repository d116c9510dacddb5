# EXPECT moving
# NOTE the actor thread holds the buffer lock for 8 s while it refreshes, then releases it; the steps go on afterwards.
import threading
import time

import numpy as np
import keras
from keras import layers


class ReplayBuffer:
    def __init__(self, size, obs_dim):
        self.lock = threading.Lock()
        self.obs = np.random.randn(size, obs_dim).astype(np.float32)
        self.ret = self.obs.sum(axis=1, keepdims=True)

    def sample(self, n):
        self.lock.acquire()
        idx = np.random.randint(0, len(self.obs), n)
        out = self.obs[idx], self.ret[idx]
        self.lock.release()
        return out

    def refresh(self, new_obs):
        self.lock.acquire()
        time.sleep(8)
        self.obs = new_obs
        self.ret = new_obs.sum(axis=1, keepdims=True)
        self.lock.release()


def actor(buffer):
    """Plays episodes and refreshes the buffer."""
    time.sleep(8)
    buffer.refresh(np.random.randn(1000, 8).astype(np.float32))
    while True:
        time.sleep(1)


def sample_stream(buffer, n):
    while True:
        time.sleep(0.05)
        yield buffer.sample(n)


def main():
    buffer = ReplayBuffer(1000, 8)
    threading.Thread(target=actor, args=(buffer,), daemon=True).start()
    critic = keras.Sequential([layers.Input((8,)), layers.Dense(32, "relu"), layers.Dense(1)])
    critic.compile(optimizer="adam", loss="huber")
    critic.fit(sample_stream(buffer, 64), steps_per_epoch=100, epochs=4)


main()
