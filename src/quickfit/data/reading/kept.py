"""Keeps decoded images, so that later epochs only copy them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from quickfit import terminal
from quickfit.data.reading.pack_index import Whole
from quickfit.data.reading.rows import Pixels
from quickfit.data.reading.shelves import Shelf


class Reader(Protocol):
    """Reads batches of a pack by position. Called from many threads."""

    def read(self, positions: Whole) -> tuple[Pixels, Whole]:
        """Return the images at these positions, and the positions of those that can be used."""
        ...


class Kept:
    """Batches of a reader, each image read once.

    Args:
        reader: reads what is not kept yet.
        shelf: room for the images.
        own: all positions that are asked for, growing.
    """

    def __init__(self, reader: Reader, shelf: Shelf, own: Whole) -> None:
        self._reader = reader
        self._shelf = shelf
        self._own = own
        self._is_there = np.zeros(len(own), bool)
        self._is_off = False

    def read(self, positions: Whole) -> tuple[Pixels, Whole]:
        """Return the images at these positions, and the positions of those that can be used."""
        slots = np.searchsorted(self._own, positions)
        if self._is_there[slots].all():
            return self._shelf.read(slots), positions
        images, used = self._reader.read(positions)
        if not self._is_off:
            self._keep(np.searchsorted(self._own, used), images)
        return images, used

    def _keep(self, slots: Whole, images: Pixels) -> None:
        try:
            self._shelf.write(slots, images)
        except OSError as error:  # a full disk ends the cache, not the training
            self._is_off = True
            terminal.say(
                f"no more images are cached: {error.strerror}. Training goes on; every epoch"
                " decodes the others again."
            )
            return
        self._is_there[slots] = True
