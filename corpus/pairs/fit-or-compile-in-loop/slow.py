"""A learning rate that falls by hand: every round compiles the model again and calls `fit`."""

import time

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.random((960, 16, 16, 3), "float32")
y = rng.random((960, 1), "float32")

model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(1),
    ]
)

began_s = time.perf_counter()
for epoch in range(20):
    model.compile(keras.optimizers.SGD(0.01 * 0.9**epoch), loss="mse")
    model.fit(x, y, batch_size=32, epochs=1, shuffle=False, verbose=2)
print(f"training took {time.perf_counter() - began_s:.2f} s")
