"""The order of images and records in each epoch, and each worker's share of them."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from quickfit.data.graph import Dataset, Tensor, tensor_from_python, without_autograph

Indices = NDArray[np.int64]
Positions = NDArray[np.int64]
# What is read in one piece. A disk that has to move its head is then busy reading most of the
# time, and a pack that is sorted by class is cut into many pieces all the same.
RUN_BYTES = 2_000_000
# The records that are mixed with each other. All of a window may have to be read before its last
# batch, so it is what a slow disk reads in about two seconds.
WINDOW_BYTES = 256_000_000
# So many runs of each worker at least, spread over the whole pack.
_LEAST_RUNS = 16


class EpochOrder:
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


def places_of(epochs: EpochOrder, count: int) -> Dataset:
    """Return one epoch as a dataset of `[position, epoch, index of the image there]`."""
    import tensorflow as tf

    def places() -> Indices:
        epoch = epochs.begin()
        order = epochs.order(int(epoch), count)
        return np.stack([np.arange(count), np.full(count, epoch), order], axis=1)

    @without_autograph
    def begun(_: Tensor) -> Tensor:
        return tensor_from_python(places, [], tf.int64, (count, 3))

    each = without_autograph(tf.data.Dataset.from_tensor_slices)
    return tf.data.Dataset.from_tensors(0).map(begun).flat_map(each)


def run_records(mean_bytes: float) -> int:
    """Return how many neighbours are read in one piece."""
    return max(1, int(RUN_BYTES / max(mean_bytes, 1.0)))


def window_records(mean_bytes: float, asked: bool | int) -> int:
    """Return how many records are mixed with each other.

    Args:
        mean_bytes: the size of a record.
        asked: what the user said: a number of records, or True for the default.
    """
    if asked is not True:
        return max(1, int(asked))
    return max(1, int(WINDOW_BYTES / max(mean_bytes, 1.0)))


def shuffle_positions(own: Positions, window: int, run: int, seed: tuple[int, int]) -> Positions:
    """Return these positions in a random order; the same seed gives the same.

    Runs of neighbours are put in a random order, and then mixed within windows.
    """
    draw = np.random.default_rng(seed)
    if len(own) <= window:
        return draw.permutation(own)
    # Where the runs begin differs from epoch to epoch, so that neighbours do too.
    cut = int(draw.integers(run)) + 1
    runs = np.split(own, np.arange(cut, len(own), run))
    mixed = np.concatenate([runs[number] for number in draw.permutation(len(runs))])
    for begin in range(0, len(mixed), window):
        draw.shuffle(mixed[begin : begin + window])
    return mixed


def worker_positions(count: int, run: int, shard: tuple[int, int]) -> Positions:
    """Return the positions of one worker of several.

    The workers take runs in turn, so that each sees all classes of a pack that is sorted by them
    and still reads in large pieces. No two differ by more than one record.
    """
    index, workers = shard
    positions = np.arange(count, dtype=np.int64)
    if workers == 1:
        return positions
    run = max(1, min(run, count // (_LEAST_RUNS * workers)))
    even = count // (run * workers) * run * workers
    runs = positions[:even].reshape(-1, workers, run)[:, index].reshape(-1)
    return np.concatenate((runs, positions[even + index :: workers]))
