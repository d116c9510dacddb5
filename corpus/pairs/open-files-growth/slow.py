"""A generator opens a file for every batch and never closes one."""

import tempfile
import time
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
paths = [folder / f"{number}.bin" for number in range(40)]
for path in paths:
    rng.random((64, 48, 48, 3), "float32").tofile(path)
labels = rng.integers(0, 10, 64)
handles = {}


def batches():
    number = 0
    while True:
        number += 1
        handles[number] = open(paths[number % len(paths)], "rb")  # noqa: SIM115
        batch = np.frombuffer(handles[number].read(), "float32")
        yield batch.reshape((64, 48, 48, 3)), labels


model = keras.Sequential(
    [
        keras.Input((48, 48, 3)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Conv2D(64, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
began_s = time.perf_counter()
model.fit(batches(), steps_per_epoch=120, epochs=3, verbose=2)
print(f"training took {time.perf_counter() - began_s:.2f} s")
for path in paths:
    path.unlink()
folder.rmdir()
