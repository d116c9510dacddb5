# EXPECT cause=tiny-batch file=train.py line=14
# WHY two rows per step
import time

import numpy as np
import keras

rng = np.random.default_rng(30)
x = rng.normal(size=(4000, 128)).astype("float32")
y = rng.integers(0, 3, 4000)
model = keras.Sequential([keras.Input((128,)), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(3, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(x, y, batch_size=2, epochs=2, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
