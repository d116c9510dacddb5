"""A few numbers that all workers of a crew and its owner see without asking each other."""

from __future__ import annotations

from quickfit.data.workers.memory import SharedMemory

# What a worker handles when it handles no item.
NOTHING = -1
LOADING = -2

_TURN, _EDITION, _FIRST_WORKER = 0, 1, 2
_NUMBER_BYTES = 8


class Board:
    """The turn in progress, the newest parcel, and the item each worker is busy with.

    Args:
        memory: shared by all.
        workers: how many workers there may be.
    """

    def __init__(self, memory: SharedMemory, workers: int) -> None:
        size = (_FIRST_WORKER + workers) * _NUMBER_BYTES
        self._numbers = memoryview(memory.mapped(size)).cast("q")

    @property
    def turn(self) -> int:
        """The pass over the data that is in progress."""
        return self._numbers[_TURN]

    @turn.setter
    def turn(self, value: int) -> None:
        self._numbers[_TURN] = value

    @property
    def edition(self) -> int:
        """The number of the newest parcel; who has an older one fetches it before working."""
        return self._numbers[_EDITION]

    @edition.setter
    def edition(self, value: int) -> None:
        self._numbers[_EDITION] = value

    def item_of(self, worker: int) -> int:
        """Return the item a worker is busy with, or was when it died."""
        return self._numbers[_FIRST_WORKER + worker]

    def set_item(self, worker: int, item: int) -> None:
        """Say what a worker is busy with."""
        self._numbers[_FIRST_WORKER + worker] = item
