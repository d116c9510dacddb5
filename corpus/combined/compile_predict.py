# EXPECT first=fit-or-compile-in-loop file=train.py line=11 second=predict-in-loop
# WHY compile in every round traces the training step again and costs most; 14 single-row predict() calls per round cost less
"""Active learning on sensor drift: each round trains with a smaller step and asks for the most uncertain candidates."""
import time

import numpy as np
from tensorflow import keras


def new_round(model, lr):
    model.compile(optimizer=keras.optimizers.Adam(lr), loss="binary_crossentropy", metrics=["accuracy"])


def uncertainty(model, candidate):
    p = float(model.predict(candidate[None], verbose=0)[0, 0])
    return -abs(p - 0.5)


rng = np.random.default_rng(306)
pool = rng.standard_normal((2000, 20)).astype("float32")
truth = (pool[:, :1] > 0).astype("float32")
known = list(range(200))
inp = keras.Input((20,))
h = inp
for _ in range(5):
    h = keras.layers.BatchNormalization()(keras.layers.Dense(32, activation="relu")(h))
model = keras.Model(inp, keras.layers.Dense(1, activation="sigmoid")(h))
t0 = time.time()
for r in range(5):
    new_round(model, 1e-3 * 0.8 ** r)
    model.fit(pool[known], truth[known], batch_size=50, epochs=2, verbose=0)
    cand = rng.integers(0, 2000, 14)
    order = sorted(cand, key=lambda c: uncertainty(model, pool[c]))
    known += list(order[-3:])
    print("round", r, len(known))
print(f"training took {time.time() - t0:.1f} s")
