# EXPECT cause=step-overhead-small-model file=train.py line=12
# WHY a linear model: nearly all of each step is framework overhead; steps_per_execution is 1
import time

import numpy as np
import keras

rng = np.random.default_rng(32)
x = rng.normal(size=(128000, 4)).astype("float32")
y = x @ np.array([[1.0], [2.0], [-1.0], [0.5]], "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
t0 = time.perf_counter()
model.fit(x, y, batch_size=32, epochs=2, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
