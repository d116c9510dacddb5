# EXPECT cause=xla-first-compile file=train.py line=17
# WHY jit_compile on a deep small model: the compile of the first step costs more than the training
import time

import numpy as np
import keras

rng = np.random.default_rng(33)
x = rng.normal(size=(640, 32)).astype("float32")
y = rng.normal(size=(640, 1)).astype("float32")
inp = keras.Input((32,))
h = inp
for _ in range(24):
    r = keras.layers.Dense(32, activation="gelu")(keras.layers.LayerNormalization()(h))
    h = keras.layers.Add()([h, r])
model = keras.Model(inp, keras.layers.Dense(1)(h))
model.compile("adam", "mse", jit_compile=True)
t0 = time.perf_counter()
model.fit(x, y, batch_size=32, epochs=4, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
