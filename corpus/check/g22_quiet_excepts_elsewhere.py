# EXPECT none
# NOTE `except ...: pass` only outside of the data path: GPU memory growth, optional imports, removing an old file, a progress file; the reader itself raises
# SEEN ran to the end (rc 0), no complaint of its own
"""Plant watering model.  Careful start-up, plain training."""
import contextlib
import os
import tempfile

import numpy as np
import tensorflow as tf

try:
    import matplotlib.pyplot as plt
except Exception:
    plt = None

for gpu in tf.config.list_physical_devices("GPU"):
    try:
        tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError:
        pass

from tensorflow import keras
from tensorflow.keras import layers

WORK = tempfile.mkdtemp()


def start_clean(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    try:
        os.makedirs(os.path.dirname(path))
    except FileExistsError:
        pass


class ProgressFile(keras.callbacks.Callback):
    """Other people look at this file; training must not die of it."""

    def on_epoch_end(self, epoch, logs=None):
        try:
            with open(os.path.join(WORK, "progress.txt"), "w") as fh:
                fh.write(f"{epoch + 1} {logs}\n")
        except OSError:
            pass


def write_log(path, n=600):
    rng = np.random.default_rng(0)
    with open(path, "w") as fh:
        for _ in range(n):
            moisture, light, temp = rng.random(3)
            fh.write(f"{moisture:.3f},{light:.3f},{temp:.3f},{int(moisture < 0.4 * temp + 0.2)}\n")


def rows(path):
    with open(path) as fh:
        for number, line in enumerate(fh, 1):
            try:
                *features, water = map(float, line.split(","))
            except ValueError:
                raise ValueError(f"{path}:{number}: cannot be read: {line!r}")
            yield features, water


def plot(history):
    if plt is None:
        return
    plt.plot(history.history["loss"])
    plt.savefig(os.path.join(WORK, "loss.png"))


def main():
    keras.utils.set_random_seed(0)
    path = os.path.join(WORK, "log", "garden.csv")
    start_clean(path)
    write_log(path)
    feats, labels = zip(*rows(path))
    x, y = np.array(feats, "float32"), np.array(labels, "float32")

    model = keras.Sequential(
        [keras.Input((3,)), layers.Dense(16, activation="relu"), layers.Dense(1, activation="sigmoid")]
    )
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    history = model.fit(
        x, y, epochs=3, batch_size=30, validation_split=0.2, verbose=2, callbacks=[ProgressFile()]
    )
    plot(history)


if __name__ == "__main__":
    main()
