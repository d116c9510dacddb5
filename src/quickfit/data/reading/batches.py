"""Batches of a pack: which records the next one has, and how they are read into one array."""

from __future__ import annotations

import threading

import numpy as np

from quickfit.data.entries import SourceImageError
from quickfit.data.pixels import empty_batch
from quickfit.data.reading import order
from quickfit.data.reading.faults import Faults
from quickfit.data.reading.pack_index import Index, Whole
from quickfit.data.reading.rows import Pixels, Rows, Shape
from quickfit.data.reading.shards import Shards


class Batches:
    """Reads batches of a pack by position.

    Args:
        index: where the records are.
        shards: reads them.
        rows: makes images of them.
        shape: of an image.
        faults: is told of records that cannot be used.
    """

    def __init__(
        self, index: Index, shards: Shards, rows: Rows, *, shape: Shape, faults: Faults
    ) -> None:
        self._index = index
        self._shards = shards
        self._rows = rows
        self._shape = shape
        self._faults = faults

    def read(self, positions: Whole) -> tuple[Pixels, Whole]:
        """Return the images at these positions, and the positions of those that can be used.

        Raises:
            PipelineError: a record is damaged, and none is to be left out.
        """
        images = empty_batch(len(positions), self._shape)
        bad = []
        for place, spot in enumerate(self._shards.spots(positions)):
            try:
                self._rows.fill(spot, images[place])
            except SourceImageError as error:
                self._note(int(positions[place]), error)
                bad.append(place)
        if bad:
            return np.delete(images, bad, axis=0), np.delete(positions, bad)
        return images, positions

    def _note(self, position: int, error: SourceImageError) -> None:
        place = f"{self._index.place_of(position)} ({self._index.path_of(position)})"
        advice = f"To check all of the pack: quickfit pack --verify {self._index.folder}"
        self._faults.note(place, error, advice)


class Epochs:
    """The order of each epoch.

    The epochs are counted in Python: a variable of TensorFlow would become one per device in a
    `strategy.scope()`.

    Args:
        own: the positions of this worker.
        window: how many are mixed with each other; 0 keeps the order of the pack.
        run: how many are read in one piece.
        seed: of the orders.
    """

    def __init__(self, own: Whole, window: int, run: int, seed: int) -> None:
        self.own = own
        self.window = window
        self._run = run
        self._seed = seed
        self._begun = 0
        self._lock = threading.Lock()

    def begin(self) -> Whole:
        """Return the positions of the epoch that begins."""
        with self._lock:
            epoch = self._begun
            self._begun += 1
        if not self.window:
            return self.own
        return order.shuffled(self.own, self.window, self._run, (self._seed, epoch))
