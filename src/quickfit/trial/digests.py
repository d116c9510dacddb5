"""What is kept of a batch: a digest of every row, its small values, and a rough picture."""

from __future__ import annotations

import hashlib
from typing import Any

# A part of a row with this many values is an image or the like; smaller ones are kept as they are,
# all their values: what is not kept could differ unseen.
BIG = 64
# The rough picture: means of so many stretches of the row.
STRETCHES = 64


def described(parts: list[Any]) -> dict[str, Any]:
    """Return what is kept of one batch, given its parts as arrays.

    `digests` is one text per row; `small` the values of its small parts, such as labels; `rough`
    the means of stretches of its large parts; `raw` the large parts themselves.
    """
    import numpy as np

    arrays = [np.asarray(part) for part in parts]
    rows = _rows(arrays)
    if not rows:
        arrays, rows = [array[None] for array in arrays], 1
    # A slice and not an element: a text of a row of texts would be no array.
    by_row = [[array[row : row + 1] for array in arrays] for row in range(rows)]
    return {
        "digests": [_digest(parts) for parts in by_row],
        "small": [_small(parts) for parts in by_row],
        "rough": [_rough(parts) for parts in by_row],
        "raw": [_large(parts) for parts in by_row],
    }


def _rows(arrays: list[Any]) -> int:
    """Return how many rows a batch has; 0 where its parts do not have the same number."""
    lengths = {array.shape[0] if array.ndim else 0 for array in arrays}
    return int(lengths.pop()) if len(lengths) == 1 else 0


def _digest(parts: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(str(part.dtype).encode())
        digest.update(repr(part.tolist()).encode() if part.dtype == object else part.tobytes())
    return digest.hexdigest()


def _is_big(part: Any) -> bool:
    return bool(part.size >= BIG and part.dtype.kind in "fiub")


def _small(parts: list[Any]) -> list[Any]:
    small = [part for part in parts if not _is_big(part)]
    values = [value for part in small for value in part.ravel().tolist()]
    return [v if isinstance(v, int | float | bool) else repr(v) for v in values]


def _rough(parts: list[Any]) -> list[float]:
    import numpy as np

    means: list[float] = []
    for part in (part for part in parts if _is_big(part)):
        stretches = np.array_split(part.ravel().astype(np.float64), STRETCHES)
        means += [float(stretch.mean()) for stretch in stretches]
    return means


def _large(parts: list[Any]) -> Any:
    import numpy as np

    large = [part.ravel().astype(np.float32) for part in parts if _is_big(part)]
    return np.concatenate(large) if large else np.zeros(0, np.float32)
