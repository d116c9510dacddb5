# EXPECT cause=train-on-batch-loop file=gym_loop.py line=5
# WHY train_on_batch behind an alias, thousands of tiny steps
import time

from gym_loop import run_epochs
from nets import classifier, table

model = classifier()
x, y = table(9600)
t0 = time.perf_counter()
run_epochs(model, x, y, epochs=10)
print(f"training took {time.perf_counter() - t0:.1f} s")
