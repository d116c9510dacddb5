# EXPECT cause=per-step-host-copy file=memory.py line=13
# WHY each update builds new NumPy batches from Python tuples and copies them to tensors
import time

import numpy as np

from agent import Agent
from memory import Replay

replay = Replay(capacity=20000, shape=(20, 64))
agent = Agent(shape=(20, 64), actions=6)
losses = []
t0 = time.perf_counter()
for update in range(4500):
    loss = agent.learn(*replay.sample(256))
    losses.append(loss)
print("mean loss", float(np.mean([float(v) for v in losses[-50:]])))
print(f"training took {time.perf_counter() - t0:.1f} s")
