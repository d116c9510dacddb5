# EXPECT generator-never-yields file=stream.py line=20
# NOTE the endless generator sits in a method of stream.py (`_endless`), handed on by `batches`; if every reading fails to load (OSError/ValueError swallowed with pass) nothing is ever yielded (here: the key is called `wave`, the reader asks for `signal`). Line: the `while True`; a swallowed-errors at the except would be no false alarm either, but the types are narrow, so it is not demanded
# SEEN never finished: killed by timeout after 45 s, not even 'Epoch 1/2' was printed
"""Vibration monitoring: normal or worn bearing."""
import pathlib
import sys
import tempfile

import keras
import numpy as np
from keras import layers

from stream import ReadingStream


def write_readings(folder, n=60, length=256):
    rng = np.random.default_rng(2)
    t = np.arange(length)
    for i in range(n):
        worn = i % 2
        wave = np.sin(t / 5) + worn * 0.8 * np.sin(t / 1.7) + rng.normal(0, 0.2, length)
        np.savez(folder / f"r{i:03d}.npz", wave=wave.astype("float32"), worn=worn)


def network(length):
    inp = keras.Input((length, 1))
    x = layers.Conv1D(8, 9, strides=4, activation="relu")(inp)
    x = layers.Conv1D(16, 9, strides=4, activation="relu")(x)
    x = layers.GlobalMaxPooling1D()(x)
    return keras.Model(inp, layers.Dense(1, activation="sigmoid")(x))


def main(folder=None, pattern="r*.npz"):
    with tempfile.TemporaryDirectory() as tmp:
        if folder is None:
            folder = pathlib.Path(tmp)
            write_readings(folder)
        stream = ReadingStream(folder, pattern=pattern, batch_size=10, key="signal")
        model = network(256)
        model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
        model.fit(stream.batches(), steps_per_epoch=stream.steps, epochs=2, verbose=2)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:2]))
