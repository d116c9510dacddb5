"""Refuses Keras on anything but TensorFlow, in words."""

from __future__ import annotations

from quickfit.errors import UsageError


def require_tensorflow(what: str, backend: str) -> None:
    """Let nothing happen where Keras runs on another backend.

    Args:
        what: the function that was called.
        backend: as `keras.config.backend()` gives it.

    Raises:
        UsageError: Keras runs on another backend.
    """
    if backend != "tensorflow":
        raise UsageError(
            f"{what} works with Keras on TensorFlow, and this is Keras on {backend}. Set "
            "KERAS_BACKEND=tensorflow before keras is imported."
        )
