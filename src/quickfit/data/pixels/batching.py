"""Room for the pixels of a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# TensorFlow takes an array over as it is when it begins at such an address, and copies others.
_ALIGNED_BYTES = 64


def empty_batch(count: int, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return room for a batch, placed so that TensorFlow need not copy it."""
    size = count * int(np.prod(shape))
    room = np.empty(size + _ALIGNED_BYTES, np.uint8)
    start = -room.ctypes.data % _ALIGNED_BYTES
    return room[start : start + size].reshape(count, *shape)
