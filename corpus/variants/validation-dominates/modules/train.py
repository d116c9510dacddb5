# EXPECT cause=validation-dominates file=experiment.py line=20
# WHY validation runs with batches of one: 1600 steps against 60 training steps
import time

from experiment import Experiment

exp = Experiment()
t0 = time.perf_counter()
for epoch in range(5):
    exp.train_epoch()
    print("epoch", epoch, "score", exp.evaluate())
print(f"training took {time.perf_counter() - t0:.1f} s")
