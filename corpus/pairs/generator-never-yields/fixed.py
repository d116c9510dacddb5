"""The same generator with the right names; it counts what it skips and gives up."""

import tempfile
import time
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())
for number in range(64):
    np.save(folder / f"{number}.npy", np.full((8, 8, 1), number / 64, "float32"))

paths = [folder / f"{number}.npy" for number in range(64)]
began_at = time.monotonic()


def batches():
    images, skipped = [], 0
    while True:
        for path in paths:
            try:
                images.append(np.load(path))
            except OSError as error:
                skipped += 1
                if skipped > len(paths) // 10:
                    raise RuntimeError(f"{skipped} of {len(paths)} files skipped") from error
                continue
            if len(images) == 16:
                yield np.stack(images), np.zeros(16)
                images = []


model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(batches(), steps_per_epoch=4, epochs=2, verbose=2)
print(f"trained in {time.monotonic() - began_at:.1f} s")
