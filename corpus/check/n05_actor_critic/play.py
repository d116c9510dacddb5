# EXPECT none
# NOTE healthy RL project: several environments step together, the policy is called as model(x) on the whole batch of environments inside a compiled function, rewards are numpy
# SEEN ran to the end (rc 0), no complaint of its own
"""Advantage actor-critic on a balancing pole; many poles at once."""
import argparse
import logging

import keras
import numpy as np

from agent import A2C, AgentConfig
from poles import PoleBatch
from rollout import collect, discounted

log = logging.getLogger("a2c")


def evaluate(agent, poles, limit=100):
    """Mean length of an episode with the greedy policy."""
    obs = poles.reset()
    alive = np.ones(len(obs), dtype=bool)
    length = np.zeros(len(obs))
    for _ in range(limit):
        actions = agent.greedy(obs)
        obs, _, done = poles.step(actions)
        length += alive
        alive &= ~done
        if not alive.any():
            break
    return float(length.mean())


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--updates", type=int, default=20)
    p.add_argument("--poles", type=int, default=16)
    p.add_argument("--horizon", type=int, default=8)
    p.add_argument("--log-every", type=int, default=10)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    keras.utils.set_random_seed(0)

    cfg = AgentConfig()
    poles = PoleBatch(args.poles, seed=0)
    agent = A2C(PoleBatch.OBS, PoleBatch.ACTIONS, cfg)

    obs = poles.reset()
    for update in range(1, args.updates + 1):
        batch, obs = collect(agent, poles, obs, args.horizon)
        last_value = agent.values(obs)
        returns = discounted(batch.rewards, batch.dones, last_value, cfg.gamma)
        agent.update(batch.observations, batch.actions, returns)
        if update % args.log_every == 0:
            log.info("update %d  loss %.3f", update, agent.read_loss())

    log.info("greedy episode length %.1f", evaluate(agent, PoleBatch(8, seed=1)))
    agent.save_weights("a2c_demo.weights.h5")


if __name__ == "__main__":
    main()
