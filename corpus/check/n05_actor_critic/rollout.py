from typing import NamedTuple

import numpy as np


class Batch(NamedTuple):
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    dones: np.ndarray


def collect(agent, poles, obs, horizon):
    store = {k: [] for k in Batch._fields}
    for _ in range(horizon):
        actions = agent.act(obs)
        nxt, reward, done = poles.step(actions)
        for key, value in zip(Batch._fields, (obs, actions, reward, done)):
            store[key].append(value)
        obs = nxt
    return Batch(**{k: np.stack(v) for k, v in store.items()}), obs


def discounted(rewards, dones, last, gamma):
    out = np.zeros_like(rewards)
    running = last
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running * (1.0 - dones[t])
        out[t] = running
    return out.astype("float32")
