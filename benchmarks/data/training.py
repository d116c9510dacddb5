"""Trainings of a small network that differ only in where their batches come from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from data.child import Turns
from data.outputs import BATCH, SIDE, pil
from data.photos import photos

CLASSES = 8
# Keras trains until the process is ended.
EPOCHS = 1_000_000


def network() -> Any:  # a compiled Keras model
    """Return a small convolutional network: about what a first script has."""
    import keras

    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(64, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(64, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(CLASSES),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss, metrics=["accuracy"])
    return model


def naive_generator(folder: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches for ever, each image opened, shrunk and stacked in Python."""
    taken = photos(folder)
    pairs = list(zip(taken.files, taken.labels(), strict=True))
    while True:
        random.shuffle(pairs)
        for begin in range(0, len(pairs) - BATCH + 1, BATCH):
            part = pairs[begin : begin + BATCH]
            yield np.stack([pil(file) for file, _ in part]), np.asarray([each[1] for each in part])


def synthetic(steps: int) -> Any:  # a tf.data.Dataset
    """Return one batch again and again: what the network could do with input for free."""
    import tensorflow as tf

    chance = np.random.default_rng(0)
    images = chance.integers(0, 256, (BATCH, SIDE, SIDE, 3), np.uint8)
    labels = chance.integers(0, CLASSES, BATCH)
    return tf.data.Dataset.from_tensors((images, labels)).repeat(steps)


def train(folder: Path, turns: Turns, *, feed: str, pack: str = "", **options: Any) -> None:
    """Train for ever; from the second epoch on, steps count.

    Args:
        folder: of the photographs.
        turns: when to train.
        feed: "naive", "images", "records" or "synthetic".
        pack: what "records" reads.
        options: of `images` or `records`.
    """
    from data.loaders_quickfit import images, records

    steps = len(photos(folder).files) // BATCH
    batches = {
        "naive": lambda: naive_generator(folder),
        "images": lambda: images(folder, **options),
        "records": lambda: records(folder, pack=pack, **options),
        "synthetic": lambda: synthetic(steps),
    }[feed]()
    # The turns of others make epochs long here, and with them what TensorFlow may wait for at the
    # end of an iterator (decision 0009).
    batches = batches if feed == "naive" else batches.repeat()
    told = {"verbose": 0, "callbacks": [_counting(turns)]}
    network().fit(batches, epochs=EPOCHS, steps_per_epoch=steps, **told)


def _counting(turns: Turns) -> Any:  # a Keras callback
    import keras

    class Counting(keras.callbacks.Callback):
        """Tells when the first epoch is over, and counts the images of later ones."""

        def __init__(self) -> None:
            super().__init__()
            self.is_warm = False

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if not self.is_warm:
                self.is_warm = True
                turns.answer({})
                turns.wait()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if self.is_warm:
                turns.done(BATCH)

    return Counting()
