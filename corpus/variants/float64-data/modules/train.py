# EXPECT cause=float64-data file=prepare.py line=5
# WHY NumPy made float64, the weights follow the data, so every product is double precision
import time

import tensorflow as tf

from prepare import table
from steps import Trainer

batches = tf.data.Dataset.from_tensor_slices(table(8000, 400)).shuffle(8000).batch(200).prefetch(2)
trainer = Trainer(width=800)
t0 = time.perf_counter()
for epoch in range(8):
    for x, y in batches:
        trainer.step(x, y)
    print("epoch", epoch, trainer.report())
print(f"training took {time.perf_counter() - t0:.1f} s")
