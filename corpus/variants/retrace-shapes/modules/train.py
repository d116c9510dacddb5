# EXPECT cause=retrace-shapes file=loop.py line=13 also=train.py:13
# WHY every point cloud has another number of points and tf.function has no signature, so it traces again
import time

import tensorflow as tf

from loop import Learner
from scenes import scenes

learner = Learner()
t0 = time.perf_counter()
for number, (cloud, label) in enumerate(scenes(70)):
    loss = learner.learn(cloud, label)
print("last loss", float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")
