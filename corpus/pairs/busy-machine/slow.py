"""Two other programs keep the cores busy while a model trains."""

import subprocess

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x, y = rng.random((4096, 512), "float32"), rng.integers(0, 10, 4096)

model = keras.Sequential(
    [
        keras.Input((512,)),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))

# They stand for whatever else runs on the machine.
others = [subprocess.Popen(["timeout", "60", "sh", "-c", "while :; do :; done"]) for _ in range(2)]
try:
    model.fit(x, y, batch_size=128, epochs=16, verbose=2)
finally:
    for other in others:
        other.terminate()
