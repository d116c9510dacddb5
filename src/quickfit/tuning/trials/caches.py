"""Keeps a trial from writing the cache files of the user's pipeline."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any


def redirect(scratch: Path) -> None:
    """Let `Dataset.cache(filename)` write to a scratch folder.

    A trial ends in the middle of an epoch and leaves a half-written cache with its lock file,
    which would keep the user's next run from starting. One that is complete is only read.
    """
    import tensorflow as tf

    original = tf.data.Dataset.cache
    numbers = count()

    def cache(self: Any, filename: Any = "", name: str | None = None) -> Any:  # Any: the user's
        if isinstance(filename, str | os.PathLike) and os.fspath(filename):
            if not os.path.exists(f"{os.fspath(filename)}.index"):
                filename = scratch / f"cache-{next(numbers)}"
            filename = os.fspath(filename)
        return original(self, filename, name)

    tf.data.Dataset.cache = cache
