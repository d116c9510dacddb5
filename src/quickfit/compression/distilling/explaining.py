"""What Keras and TensorFlow say when data do not fit a model, in a line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quickfit.errors import ModelError

# Words of the line that tells the reason, among those that only tell where it happened.
_TELLING = ("label", "shape", "Arguments", "rank")


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error inside into one that says what failed and what to look at.

    Raises:
        ModelError: in place of the errors that labels of a wrong form cause.
    """
    import tensorflow as tf

    try:
        yield
    except (TypeError, ValueError, tf.errors.OpError) as error:
        raise ModelError(
            f"{what} failed: {_reason(error)}\n"
            "Do the labels fit the model's output and its loss, and hold no other classes? Are the "
            "data in batches?"
        ) from error


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("File ", "Detected at "))]
    telling = [line for line in lines if any(word in line for word in _TELLING)]
    return f"{type(error).__name__}: {(telling or lines or ['no reason given'])[0][:300]}"
