"""The order in which an epoch reads the records of a pack, and whose they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

# What is read in one piece. A disk that has to move its head is then busy reading most of the
# time, and a pack that is sorted by class is cut into many pieces all the same.
RUN_BYTES = 2_000_000
# The records that are mixed with each other. All of a window may have to be read before its last
# batch, so it is what a slow disk reads in about two seconds.
WINDOW_BYTES = 256_000_000
# So many runs of each worker at least, spread over the whole pack.
_LEAST_RUNS = 16


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


def shuffled(own: Whole, window: int, run: int, seed: tuple[int, int]) -> Whole:
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


def part(count: int, run: int, shard: tuple[int, int]) -> Whole:
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
