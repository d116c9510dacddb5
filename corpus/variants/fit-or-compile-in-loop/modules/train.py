# EXPECT cause=fit-or-compile-in-loop file=online.py line=14
# WHY one fit() call per chunk of 64 rows: set-up costs far more than the two steps
import time

from online import OnlineModel, chunks

learner = OnlineModel(features=24)
t0 = time.perf_counter()
for part in chunks(150, 64, 24):
    learner.absorb(part)
print("seen", learner.seen)
print(f"training took {time.perf_counter() - t0:.1f} s")
