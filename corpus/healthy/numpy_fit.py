"""Plain NumPy arrays into fit(): a wide MLP on tabular data, float32, reasonable batch."""
import time

import numpy as np
import keras

rng = np.random.default_rng(1)
x = rng.normal(size=(20000, 256)).astype("float32")
w = rng.normal(size=(256,)).astype("float32")
y = (x @ w + rng.normal(size=20000) > 0).astype("float32")[:, None]

model = keras.Sequential([
    keras.Input((256,)),
    keras.layers.Dense(1024, activation="relu"),
    keras.layers.Dense(1024, activation="relu"),
    keras.layers.Dense(512, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
t0 = time.perf_counter()
model.fit(x, y, batch_size=256, epochs=6, validation_split=0.1, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
