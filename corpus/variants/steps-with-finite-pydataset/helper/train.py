# EXPECT cause=steps-with-finite-pydataset file=runner.py line=24
# WHY Runner.fit passes steps_per_epoch=30 for a PyDataset of 36 batches: data runs out in the middle of later epochs (correctness trap)
import time

from runner import Runner

runner = Runner(steps=30)
t0 = time.time()
losses = runner.fit(epochs=12)
print("losses", [round(v, 4) for v in losses])
print(f"training took {time.time() - t0:.1f} s")
