"""Windows of a long recording are cut, filtered and scaled one by one in a Python generator."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
signal = rng.standard_normal(400_000).astype("float32")
starts = rng.integers(0, len(signal) - 512, 4096)
labels = rng.integers(0, 4, 4096)


def window(start):
    part = signal[start : start + 512]
    smooth = np.convolve(part, np.hanning(9) / 4.0, mode="same")
    power = np.abs(np.fft.rfft(smooth))[:256]
    return np.log1p((power - power.min()) / (power.max() - power.min()))


def windows(batch_size=256):
    while True:
        for first in range(0, len(starts), batch_size):
            some = slice(first, first + batch_size)
            yield np.stack([window(start) for start in starts[some]]), labels[some]


model = keras.Sequential(
    [
        keras.Input((256,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(windows(), steps_per_epoch=16, epochs=16, verbose=2)
