# EXPECT cause=callback-batch-slow file=tracking.py line=14
# WHY an experiment tracker writes its whole JSON with fsync after every batch
import time

import numpy as np
import tensorflow as tf

from tracking import tracker

r = np.random.default_rng(25)
x = r.normal(size=(4800, 64)).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((64,)), tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(64)])
model.compile("adam", "mse")
t0 = time.perf_counter()
model.fit(x, x, batch_size=32, epochs=4, verbose=2, callbacks=[tracker()])
print(f"training took {time.perf_counter() - t0:.1f} s")
