"""DQN on a tiny gridworld; replay buffer, target network, epsilon-greedy."""
import collections
import random

import numpy as np
import keras
from keras import layers

random.seed(0)
np.random.seed(0)
keras.utils.set_random_seed(0)

SIZE = 6
ACTIONS = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class Grid:
    def reset(self):
        self.pos = [0, 0]
        self.t = 0
        return self.obs()

    def obs(self):
        o = np.zeros(SIZE * SIZE, "float32")
        o[self.pos[0] * SIZE + self.pos[1]] = 1
        return o

    def step(self, a):
        dx, dy = ACTIONS[a]
        self.pos[0] = min(max(self.pos[0] + dx, 0), SIZE - 1)
        self.pos[1] = min(max(self.pos[1] + dy, 0), SIZE - 1)
        self.t += 1
        goal = self.pos == [SIZE - 1, SIZE - 1]
        return self.obs(), 1.0 if goal else -0.02, goal or self.t >= 30


def qnet():
    m = keras.Sequential([layers.Input((SIZE * SIZE,)), layers.Dense(64, activation="relu"),
                          layers.Dense(64, activation="relu"), layers.Dense(len(ACTIONS))])
    m.compile(optimizer=keras.optimizers.Adam(1e-3), loss="huber")
    return m


class Agent:
    def __init__(self):
        self.q = qnet()
        self.target = qnet()
        self.memory = collections.deque(maxlen=4000)
        self.eps = 0.6

    def act(self, s):
        if random.random() < self.eps:
            return random.randrange(len(ACTIONS))
        return int(np.argmax(self.q.predict(s[None], verbose=0)[0]))

    def learn(self, batch_size=64, gamma=0.97):
        batch = random.sample(self.memory, batch_size)
        s, a, r, s2, d = map(np.array, zip(*batch))
        nxt = np.asarray(self.target(s2)).max(1)
        y = np.array(self.q(s))
        y[np.arange(batch_size), a] = r + gamma * nxt * (1 - d)
        return self.q.train_on_batch(s.astype("float32"), y)


def main():
    env, agent = Grid(), Agent()
    step = 0
    for episode in range(12):
        s, done, ret = env.reset(), False, 0.0
        while not done:
            a = agent.act(s)
            s2, r, done = env.step(a)
            agent.memory.append((s, a, np.float32(r), s2, np.float32(done)))
            s, ret, step = s2, ret + r, step + 1
            if len(agent.memory) >= 64 and step % 8 == 0:
                agent.learn()
            if step % 100 == 0:
                agent.target.set_weights(agent.q.get_weights())
        agent.eps = max(0.05, agent.eps * 0.9)
        print(f"episode {episode} return {ret:.2f} steps {step}")


if __name__ == "__main__":
    main()
