"""A function that only Python can run, and ways to feed its results to TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 32
ITEMS = 4096
SIDE = 64
# Turns of the loop for one item: about 3 ms that hold the GIL.
WORK = 30_000
CHECKED_BATCHES = 4


def item(number: int) -> tuple[np.ndarray, int]:
    """Return an array that depends on a number drawn step by step, and the number."""
    state = number + 1
    for _ in range(WORK):
        state = (state * 1103515245 + 12345) % 2147483648
    return np.full((SIDE, SIDE, 3), state % 251, np.uint8), number


def check(batches: Iterator[Any], folder: Path) -> dict[str, Any]:
    """Compare batches with the function itself."""
    for _ in range(CHECKED_BATCHES):
        arrays, numbers = (np.asarray(part) for part in next(batches))
        for array, number in zip(arrays, numbers.reshape(-1), strict=True):
            if not np.array_equal(array, item(int(number))[0]):
                raise ValueError(f"item {number} is not what the function returns")
    return {"dtype": "uint8"}


def quickfit_generator(folder: Path, **options: Any) -> Iterable[Any]:
    """`quickfit.data.generator`; `options` are its own."""
    from quickfit import data

    found: Iterable[Any] = data.generator(item, ITEMS, batch=BATCH, **options)
    return found


def from_generator(folder: Path) -> Iterable[Any]:
    """`tf.data.Dataset.from_generator` with a prefetch."""
    import tensorflow as tf

    signature = (tf.TensorSpec((SIDE, SIDE, 3), tf.uint8), tf.TensorSpec((), tf.int64))
    ds = tf.data.Dataset.from_generator(
        lambda: (item(number) for number in range(ITEMS)), output_signature=signature
    )
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def py_dataset(folder: Path, *, workers: int, processes: bool = False) -> Iterable[Any]:
    """A `keras.utils.PyDataset`, through the adapter that `fit` uses."""
    import keras
    from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

    from data.loaders_tf import PyDatasetEpochs

    class Items(keras.utils.PyDataset):
        def __len__(self) -> int:
            return ITEMS // BATCH

        def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
            made = [item(number * BATCH + row) for row in range(BATCH)]
            return np.stack([array for array, _ in made]), np.asarray([n for _, n in made])

    dataset = Items(workers=workers, use_multiprocessing=processes)
    return PyDatasetEpochs(PyDatasetAdapter(dataset, shuffle=False))
