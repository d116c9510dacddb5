"""Q-learning of a small inventory problem."""
import random
from collections import deque

import numpy as np
import keras
from keras import layers

MAX_STOCK = 20
ACTIONS = 6


class Shop:
    def reset(self):
        self.stock, self.day = 10, 0
        return self.obs()

    def obs(self):
        return np.array([self.stock / MAX_STOCK, np.sin(self.day / 7 * 6.28), np.cos(self.day / 7 * 6.28)], "float32")

    def step(self, order):
        demand = np.random.poisson(3 + 2 * (self.day % 7 > 4))
        self.stock = min(MAX_STOCK, self.stock + order)
        sold = min(self.stock, demand)
        self.stock -= sold
        self.day += 1
        return self.obs(), 2.0 * sold - 0.1 * self.stock - 0.5 * (order > 0), self.day >= 30


class Agent:
    def __init__(self):
        self.model = keras.Sequential([layers.Input((3,)), layers.Dense(32, "relu"), layers.Dense(32, "relu"), layers.Dense(ACTIONS)])
        self.model.compile("adam", "mse")
        self.memory = deque(maxlen=2000)
        self.eps = 1.0

    def act(self, s):
        if random.random() < self.eps:
            return random.randrange(ACTIONS)
        q = self.model.predict(s[None], verbose=0)
        return int(np.argmax(q[0]))

    def learn(self, n=64):
        batch = random.sample(self.memory, n)
        s, a, r, s2, done = map(np.array, zip(*batch))
        target = self.model.predict_on_batch(s)
        nxt = self.model.predict_on_batch(s2).max(1)
        target[np.arange(n), a] = r + 0.97 * nxt * (1 - done)
        self.model.train_on_batch(s, target)


env, agent = Shop(), Agent()
for episode in range(10):
    s, total = env.reset(), 0.0
    while True:
        a = agent.act(s)
        s2, r, done = env.step(a)
        agent.memory.append((s, a, r, s2, done))
        s, total = s2, total + r
        if len(agent.memory) >= 64 and env.day % 10 == 0:
            agent.learn()
        if done:
            break
    agent.eps = max(0.05, agent.eps * 0.7)
    print("episode", episode, "reward", round(total, 1))
