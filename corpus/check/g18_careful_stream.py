# EXPECT none
# NOTE endless generator that skips bad records but counts them and stops (raises) beyond a limit; skipping is logged
# SEEN ran to the end (rc 0), no complaint of its own
"""Train on measurement files of varying quality."""
import logging
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import layers

log = logging.getLogger("measurements")


class TooManyBadFiles(RuntimeError):
    pass


class MeasurementStream:
    def __init__(self, folder, batch_size=16, max_bad=10):
        self.files = sorted(Path(folder).glob("*.txt"))
        if not self.files:
            raise FileNotFoundError(f"nothing to read in {folder}")
        self.batch_size = batch_size
        self.max_bad = max_bad
        self.bad = set()

    def _read(self, path):
        row = np.loadtxt(path, dtype="float32")
        if row.shape != (9,):
            raise ValueError(f"{row.shape} instead of (9,)")
        return row[:8], row[8]

    def __iter__(self):
        rng = np.random.default_rng(0)
        xs, ys = [], []
        while True:
            for i in rng.permutation(len(self.files)):
                try:
                    x, y = self._read(self.files[i])
                except (OSError, ValueError) as err:
                    self.bad.add(self.files[i].name)
                    log.warning("skipped %s: %s", self.files[i].name, err)
                    if len(self.bad) > self.max_bad:
                        raise TooManyBadFiles(f"{len(self.bad)} unreadable files") from err
                    continue
                xs.append(x)
                ys.append(y)
                if len(xs) == self.batch_size:
                    yield np.stack(xs), np.array(ys)
                    xs, ys = [], []

    @property
    def steps(self):
        return len(self.files) // self.batch_size


def write(folder, n=96):
    rng = np.random.default_rng(7)
    for i in range(n):
        x = rng.normal(size=8)
        path = Path(folder, f"m{i:03d}.txt")
        if i % 48 == 47:
            path.write_text("sensor offline")
        else:
            np.savetxt(path, np.append(x, x[:3].sum()))


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    keras.utils.set_random_seed(7)
    with tempfile.TemporaryDirectory() as tmp:
        write(tmp)
        stream = MeasurementStream(tmp)
        model = keras.Sequential(
            [keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(1)]
        )
        model.compile(optimizer="adam", loss="mse")
        model.fit(iter(stream), steps_per_epoch=stream.steps, epochs=2, verbose=2)
        print("skipped", sorted(stream.bad))
