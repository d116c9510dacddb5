"""jit_compile=True on an element-wise heavy model with a run long enough to pay for the compile."""
import time

import numpy as np
import keras
from keras import layers, ops

rng = np.random.default_rng(211)
x = rng.standard_normal((12000, 256)).astype("float32")
y = np.tanh(x[:, :8]).astype("float32")

inp = keras.Input((256,))
h = layers.Dense(640, activation="gelu")(inp)
h = layers.LayerNormalization()(h)
h = layers.Dense(640, activation="gelu")(h)
out = layers.Dense(8)(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(1e-3), "mse", jit_compile=True)
t0 = time.perf_counter()
model.fit(x, y, batch_size=240, epochs=12, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
