# EXPECT stuck=held-lock line=18 also=25
# NOTE the reload thread acquires the buffer lock, hits an error and returns without release(); the generator waits in acquire() after a few batches. (Also fair: line 25.)
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
        if new_obs.shape[1] != self.obs.shape[1]:
            print("refresh: shape mismatch, ignored")
            return
        self.obs = new_obs
        self.ret = new_obs.sum(axis=1, keepdims=True)
        self.lock.release()


def actor(buffer):
    """Plays episodes and refreshes the buffer."""
    time.sleep(8)
    buffer.refresh(np.random.randn(1000, 7).astype(np.float32))
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
    critic.fit(sample_stream(buffer, 64), steps_per_epoch=1000, epochs=10)


main()
