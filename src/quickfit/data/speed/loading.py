"""Loads TensorFlow without the notes it writes to stderr on the way."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from quickfit.errors import UsageError


def load_tensorflow() -> None:
    """Load TensorFlow and Keras.

    Raises:
        UsageError: they are not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors still show
    try:
        with _notes_dropped():
            import keras  # noqa: F401
            import tensorflow  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            f"bench: {error.name} is not installed for {sys.executable}.\n"
            "Install it: pip install 'quickfit[cpu]', or 'quickfit[gpu]' for a GPU"
        ) from error


@contextmanager
def _notes_dropped() -> Iterator[None]:
    """Keep what native code writes to stderr; it is shown if the loading fails.

    Some of TensorFlow's notes (oneDNN, 2.21) come before it has read TF_CPP_MIN_LOG_LEVEL.
    """
    sys.stderr.flush()
    original = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(original, kept.read())
            raise
        finally:
            os.dup2(original, 2)
            os.close(original)
