# EXPECT cause=run-eagerly-on file=settings.py line=10
# WHY run_functions_eagerly(True) left on in a settings module
import time

import tensorflow as tf

import settings
from model import build, data

settings.apply()
net = build()
t0 = time.perf_counter()
net.fit(data(), epochs=2, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
