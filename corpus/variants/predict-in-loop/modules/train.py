# EXPECT cause=predict-in-loop file=watch.py line=5
# WHY predict() on 8 rows after every batch, hidden in a helper of a callback
import time

import numpy as np
import keras

from watch import Monitor

r = np.random.default_rng(19)
x = r.normal(size=(1920, 20)).astype("float32")
y = (x.sum(1, keepdims=True) > 0).astype("float32")
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
t0 = time.perf_counter()
model.fit(x, y, batch_size=32, epochs=2, verbose=2, callbacks=[Monitor(x[:8], y[:8])])
print(f"training took {time.perf_counter() - t0:.1f} s")
