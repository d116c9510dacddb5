# EXPECT cause=tiny-batch file=rows.py line=8
# WHY four windows per step, set in a config module
import time

from config import CFG
from net import make
from rows import load

model = make()
t0 = time.perf_counter()
model.fit(load(CFG["rows"], CFG["per_step"]), epochs=CFG["epochs"], verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
