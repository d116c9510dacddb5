"""Opens `.npz` files of NumPy that anybody may have written: whole, or refused."""

from __future__ import annotations

import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quickfit import trust

# What NumPy and the zip module below it raise for files that are cut off, damaged or made up.
_FAULTS = (
    *(ValueError, OSError, EOFError, LookupError, TypeError, OverflowError, MemoryError),
    *(NotImplementedError, RuntimeError, SyntaxError, tokenize.TokenError),
    *(struct.error, zipfile.BadZipFile, zlib.error),
)


class DamagedArraysError(Exception):
    """A file of arrays cannot be read; the text says why."""


@contextmanager
def open_arrays(
    path: Path, *, follow: bool = True, most: int | None = None
) -> Iterator[Any]:  # NumPy's file of arrays, or one array
    """Open a `.npz` file; no Python object in it is ever loaded.

    Args:
        path: the file.
        follow: a link is followed. Not where a script that is tried may have made it.
        most: how many bytes all its arrays may have.

    Raises:
        DamagedArraysError: it cannot be opened, or an array in it cannot be read.
    """
    import numpy as np

    try:
        # Opened here: NumPy leaves a file open that it finds to be damaged.
        with os.fdopen(trust.open_regular(path, follow=follow), "rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if most is not None and _size(archive) > most:
                raise ValueError(f"its arrays have more than {most:,} bytes")
            yield archive
    except _FAULTS as error:
        is_object = "allow_pickle" in str(error)
        why = "it holds Python objects, which are not loaded" if is_object else str(error)
        raise DamagedArraysError(why or type(error).__name__) from error


def _size(archive: Any) -> int:
    """Return how many bytes the arrays of a file have; one array alone is loaded already."""
    zipped = getattr(archive, "zip", None)
    return sum(one.file_size for one in zipped.infolist()) if zipped is not None else 0
