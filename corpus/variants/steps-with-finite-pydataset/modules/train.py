# EXPECT cause=steps-with-finite-pydataset file=runner.py line=12
# WHY steps_per_epoch=40 on a PyDataset of 48 batches: the data runs out in the middle of later epochs
import time

from runner import train

t0 = time.perf_counter()
print(train(rounds=6))
print(f"training took {time.perf_counter() - t0:.1f} s")
