"""Memory for batches that is used again when TensorFlow has let go of it.

New memory costs more than the copy into it: the system hands it over page by page, each cleared.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from quickfit.data.workers.layout import aligned
from quickfit.data.workers.results import TEXT, Array

# Below this, Python's own memory is used again anyway.
_WORTH_BYTES = 1 << 17
# More than TensorFlow holds at a time is not kept for it.
_MOST_FREE = 8


class Buffers:
    """Arrays whose memory comes back when the last view of them is gone."""

    def __init__(self) -> None:
        self._free: dict[int, list[Array]] = {}

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:  # Any: of every type
        """Return an array for TensorFlow to keep as long as it likes; what is in it is not said."""
        size = math.prod(shape) * dtype.itemsize
        if dtype == TEXT or size < _WORTH_BYTES:
            return aligned(shape, dtype)
        free = self._free.setdefault(size, [])
        try:
            memory = free.pop()
        except IndexError:
            memory = aligned((size,), np.dtype(np.uint8))
        lease = _Lease(memory)
        weakref.finalize(lease, _give_back, free, memory).atexit = False
        return np.asarray(lease).view(dtype).reshape(shape)


class _Lease:
    """Stands between an array and its memory: no array, since NumPy would look through it."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, memory: Array) -> None:
        self.__array_interface__ = memory.__array_interface__


def _give_back(free: list[Array], memory: Array) -> None:
    if len(free) < _MOST_FREE:
        free.append(memory)
