# EXPECT cause=step-overhead-small-model file=forecaster.py line=14
# WHY a 100-weight model, 6000 steps of about a millisecond of overhead each
import time

from forecaster import Forecaster, history

f = Forecaster(lags=12)
x, y = history(192_000, 12)
t0 = time.perf_counter()
f.learn(x, y)
print(f"training took {time.perf_counter() - t0:.1f} s")
