# EXPECT none
# NOTE DQN with a preallocated ring buffer, target network copied every 500 steps, a bounded deque for the score
from collections import deque

import numpy as np
import tensorflow as tf

CAP, OBS, ACT = 20000, 12, 4


class Ring:
    def __init__(self):
        g = np.random.default_rng(0)
        self.s = g.normal(size=(CAP, OBS)).astype("float32")
        self.a = g.integers(0, ACT, CAP).astype("int32")
        self.r = g.normal(size=CAP).astype("float32")
        self.pos = 0
        self.g = g

    def add(self, s, a, r):
        self.s[self.pos], self.a[self.pos], self.r[self.pos] = s, a, r
        self.pos = (self.pos + 1) % CAP

    def sample(self, n):
        i = self.g.integers(0, CAP - 1, n)
        return self.s[i], self.a[i], self.r[i], self.s[i + 1]


def net():
    return tf.keras.Sequential([tf.keras.Input((OBS,)), tf.keras.layers.Dense(256, "relu"),
                                tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(ACT)])


online, target = net(), net()
target.set_weights(online.get_weights())
opt = tf.keras.optimizers.Adam(1e-4)


@tf.function
def act(s):
    return tf.argmax(online(s), axis=1)


@tf.function
def learn(s, a, r, s2):
    goal = r + 0.95 * tf.reduce_max(target(s2), axis=1)
    with tf.GradientTape() as tape:
        q = tf.gather(online(s), a, batch_dims=1)
        loss = tf.reduce_mean(tf.square(goal - q))
    opt.apply_gradients(zip(tape.gradient(loss, online.trainable_variables), online.trainable_variables))
    return loss


mem = Ring()
scores = deque(maxlen=200)
state = np.zeros(OBS, "float32")
for step in range(6500):
    a = int(act(state[None])[0])
    reward = float(state[a] - 0.1)
    mem.add(state, a, reward)
    scores.append(reward)
    state = (0.9 * state + 0.3 * mem.g.normal(size=OBS)).astype("float32")
    loss = learn(*mem.sample(64))
    if step % 500 == 0:
        target.set_weights(online.get_weights())
        print(step, "score", round(float(np.mean(scores)), 4), "loss", float(loss))
