# EXPECT cause=predict-in-loop file=train.py line=15
# WHY predict() for a single state at each step of the game
import time

import numpy as np
import keras

rng = np.random.default_rng(18)
q = keras.Sequential([keras.Input((6,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(3)])
q.compile("adam", "mse")
state = rng.normal(size=6).astype("float32")
memory = []
t0 = time.perf_counter()
for t in range(110):
    values = q.predict(state[None], verbose=0)
    action = int(values.argmax())
    nxt = 0.9 * state + 0.1 * rng.normal(size=6).astype("float32")
    memory.append((state, action, float(-abs(nxt[action]))))
    state = nxt
    if len(memory) >= 32:
        picks = [memory[i] for i in rng.integers(0, len(memory), 32)]
        s = np.stack([p[0] for p in picks])
        target = np.tile(np.array([[p[2]] for p in picks], "float32"), (1, 3))
        q.train_on_batch(s, target)
print("steps", t + 1)
print(f"training took {time.perf_counter() - t0:.1f} s")
