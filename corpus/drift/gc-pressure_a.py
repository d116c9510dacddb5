# EXPECT cause=gc-pressure file=train.py line=18
# NOTE a replay memory of millions of small python lists and objects is refreshed each step, the collector walks it over and over (the call of rollout in the loop is as right an answer)
import collections
import random
import numpy as np
import tensorflow as tf


class Transition:
    __slots__ = ("state", "action", "reward", "nxt")

    def __init__(self, state, action, reward, nxt):
        self.state, self.action, self.reward, self.nxt = state, action, reward, nxt


def rollout(k, rng):
    s = rng.random((k, 4)).tolist()
    return [Transition(s[i], [random.random()], {"r": [0.1, i]}, [s[i], None]) for i in range(k)]


random.seed(0)
rng = np.random.default_rng(0)
memory = collections.deque(maxlen=500_000)
for _ in range(50):
    memory.extend(rollout(10_000, rng))
print("memory filled:", len(memory))

critic = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(1e-3)


@tf.function
def learn(sa, r):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((critic(sa)[:, 0] - r) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
    return loss


avg = 0.0
for step in range(2200):
    memory.extend(rollout(4000, rng))
    batch = [memory[-random.randrange(1, 5000)] for _ in range(64)]
    sa = np.array([t.state + t.action for t in batch], dtype="float32")
    r = np.array([t.reward["r"][0] for t in batch], dtype="float32")
    avg += 0.01 * (float(learn(sa, r)) - avg)
    if step % 250 == 0:
        print("step", step, "td", avg)
