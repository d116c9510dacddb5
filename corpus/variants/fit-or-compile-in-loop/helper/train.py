# EXPECT cause=fit-or-compile-in-loop file=curriculum.py line=7
# WHY set_loss_weights() compiles the model anew in every round of the curriculum: each round traces the train step again
import time

import numpy as np
import keras

from curriculum import set_loss_weights
from multitask import build

rng = np.random.default_rng(14)
x = rng.standard_normal((1500, 30, 5)).astype("float32")
targets = {"wear": rng.random((1500, 1)).astype("float32"), "fault": rng.integers(0, 2, (1500, 1)).astype("float32")}

model = build(30, 5)
t0 = time.perf_counter()
for r in range(7):
    set_loss_weights(model, wear=1.0 - r / 7, fault=r / 7)
    h = model.fit(x, targets, batch_size=150, verbose=0)
    print(r, round(h.history["loss"][-1], 4))
print(f"training took {time.perf_counter() - t0:.1f} s")
