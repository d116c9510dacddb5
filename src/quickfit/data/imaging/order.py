"""The order of the images in each epoch: drawn at once, so that nothing waits for a buffer."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from quickfit.data.imaging._graph import Dataset, Tensor, in_python, plain

Indices = NDArray[np.int64]


class Epochs:
    """Counts the passes over the images and gives each an order of its own.

    The count lives in Python: a variable of TensorFlow would become one per device in a
    `strategy.scope()`. It is asked once per pass.

    Args:
        is_shuffled: whether the order is random; otherwise it is that of the list.
        seed: the same seed gives the same orders, in every process; None draws one
            from NumPy's global state.
    """

    def __init__(self, *, is_shuffled: bool, seed: int | None) -> None:
        self._is_shuffled = is_shuffled
        # Drawn as Keras does, so that `keras.utils.set_random_seed` decides it.
        self._seed = int(np.random.randint(2**31)) if seed is None else seed
        self._begun = 0
        self._lock = threading.Lock()

    def begin(self) -> np.int64:
        """Return the number of the pass that begins, from 0."""
        with self._lock:
            self._begun += 1
            return np.int64(self._begun - 1)

    def order(self, epoch: int, count: int) -> Indices:
        """Return the indices 0 to `count` - 1 in the order of an epoch."""
        if not self._is_shuffled:
            return np.arange(count)
        return np.random.default_rng([self._seed, epoch]).permutation(count)

    def draw(self) -> np.int32:
        """Return a number for the pass that begins, for random functions that take a seed."""
        return np.random.default_rng([self._seed, int(self.begin())]).integers(
            2**31, dtype=np.int32
        )


def places_of(epochs: Epochs, count: int) -> Dataset:
    """Return one epoch as a dataset of `[position, epoch, index of the image there]`."""
    import tensorflow as tf

    def places() -> Indices:
        epoch = epochs.begin()
        order = epochs.order(int(epoch), count)
        return np.stack([np.arange(count), np.full(count, epoch), order], axis=1)

    @plain
    def begun(_: Tensor) -> Tensor:
        return in_python(places, [], tf.int64, (count, 3))

    each = plain(tf.data.Dataset.from_tensor_slices)
    return tf.data.Dataset.from_tensors(0).map(begun).flat_map(each)
