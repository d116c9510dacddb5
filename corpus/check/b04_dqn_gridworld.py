# EXPECT predict-in-loop line=75
# EXPECT predict-in-loop line=84
# EXPECT predict-in-loop line=85
# NOTE predict on one state per environment step, and predict on one transition per sample of the replay memory; both are slow (a function call + data adapter each time)
# SEEN ran (rc 0) but 41 s for 30 environment steps; measured apart: 200 predicts of one row 28 s, 200 model(x) 0.8 s, one predict of 200 rows 0.16 s
"""DQN on a tiny grid world.  Adapted from an old blog post."""
import random
from collections import deque

import numpy as np
import keras
from keras import layers, optimizers

SIZE = 4
ACTIONS = 4
GAMMA = 0.95
MEMORY = 500
BATCH = 8
EPISODES = 3
MAX_STEPS = 10


class Grid:
    """Start top left, treasure bottom right."""

    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def reset(self):
        self.pos = (0, 0)
        self.t = 0
        return self._obs()

    def _obs(self):
        board = np.zeros((SIZE, SIZE), dtype="float32")
        board[self.pos] = 1.0
        return board.reshape(-1)

    def step(self, action):
        dr, dc = self.moves[action]
        r = min(max(self.pos[0] + dr, 0), SIZE - 1)
        c = min(max(self.pos[1] + dc, 0), SIZE - 1)
        self.pos = (r, c)
        self.t += 1
        won = self.pos == (SIZE - 1, SIZE - 1)
        done = won or self.t >= MAX_STEPS
        return self._obs(), (1.0 if won else -0.01), done


class DQNAgent:
    def __init__(self):
        self.memory = deque(maxlen=MEMORY)
        self.epsilon = 1.0
        self.epsilon_min = 0.05
        self.epsilon_decay = 0.9
        self.model = self._build_model()

    def _build_model(self):
        model = keras.Sequential(
            [
                keras.Input((SIZE * SIZE,)),
                layers.Dense(24, activation="relu"),
                layers.Dense(24, activation="relu"),
                layers.Dense(ACTIONS, activation="linear"),
            ]
        )
        model.compile(loss="mse", optimizer=optimizers.Adam(1e-3))
        return model

    def remember(self, *transition):
        self.memory.append(transition)

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(ACTIONS)
        q = self.model.predict(state[np.newaxis], verbose=0)
        return int(np.argmax(q[0]))

    def replay(self):
        batch = random.sample(self.memory, BATCH)
        xs, ys = [], []
        for state, action, reward, nxt, done in batch:
            target = reward
            if not done:
                target += GAMMA * np.max(self.model.predict(nxt[None, :], verbose=0)[0])
            target_f = self.model.predict(state[None, :], verbose=0)[0]
            target_f[action] = target
            xs.append(state)
            ys.append(target_f)
        self.model.train_on_batch(np.array(xs), np.array(ys))
        if self.epsilon > self.epsilon_min:
            self.epsilon *= self.epsilon_decay


if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    env = Grid()
    agent = DQNAgent()
    for e in range(EPISODES):
        state = env.reset()
        total, done = 0.0, False
        while not done:
            action = agent.act(state)
            nxt, reward, done = env.step(action)
            agent.remember(state, action, reward, nxt, done)
            state = nxt
            total += reward
            if len(agent.memory) > BATCH:
                agent.replay()
        print(f"episode {e + 1}/{EPISODES}  reward {total:.2f}  eps {agent.epsilon:.2f}")
