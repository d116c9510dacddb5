"""Asks `predict` for one row at a time, as agents that learn to act do.
Expect: kind=predict, steps=2*n, input=python, trains=no
"""

import sys

import numpy as np
from tensorflow import keras

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


class Agent:
    def __init__(self):
        self.model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(24, "relu"), keras.layers.Dense(2)]
        )

    def act(self, state):
        q = self.model.predict(state[None], verbose=0)  # the loop
        return int(np.argmax(q[0]))


agent = Agent()
for game in range(2):
    state, turn, score = np.zeros(4, "float32"), 0, 0
    while turn < n:
        score += agent.act(state)
        state = np.random.normal(size=4).astype("float32")
        turn += 1
    print("game", game, "score", score)
