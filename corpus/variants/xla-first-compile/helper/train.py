# EXPECT cause=xla-first-compile file=common.py line=6
# WHY prepare() asks for jit_compile on an unrolled ODE solver: the XLA compile costs far more than the 30 short steps of the run
import time

import numpy as np

from neural_ode import NeuralODE
from common import prepare

rng = np.random.default_rng(101)
start = rng.standard_normal((480, 4)).astype("float32")
rot = np.linalg.qr(rng.standard_normal((4, 4)))[0].astype("float32")

model = prepare(NeuralODE(dim=4, hidden=24, n_steps=16), lr=5e-3)
t0 = time.perf_counter()
model.fit(start, start @ rot, batch_size=32, epochs=2, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
