"""Finds the layer that an error came from, and tells errors of Keras in a few lines."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Layers of Keras are `Any`: Keras has no types of its own.

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Keras ends its messages with all arguments of the call.
_ARGUMENTS = "Arguments received by"
_MOST_LINES = 4


@contextmanager
def whole_tracebacks() -> Iterator[None]:
    """Keep Keras from cutting its own frames out of tracebacks: they name the layers.

    What is left otherwise are frames of the user's, where a layer is called `self` or anything
    else, or is not there at all, as in the function of a Lambda.
    """
    import keras

    before = keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    try:
        yield
    finally:
        if before:
            keras.config.enable_traceback_filtering()


def failed_layer(error: BaseException, pairs: list[tuple[Any, Any]]) -> Any:
    """Return the layer in whose copy an error happened, the innermost one; None if in none.

    Args:
        error: as it was raised.
        pairs: layers and their copies.
    """
    owners = {id(part): layer for layer, twin in pairs for part in _parts(twin)}
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        # Keras calls it `self`; whoever takes over a layer's method may call it otherwise.
        first = frame.f_code.co_varnames[:1] if frame.f_code.co_argcount else ()
        for name in (*first, "self"):
            found = owners.get(id(frame.f_locals.get(name)), found)
    return found


def told(error: BaseException) -> str:
    """Return an error of Keras as its first lines, without colours and arguments."""
    error = _cause(error)
    text = _COLOURS.sub("", str(error)).split(_ARGUMENTS)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: " + "\n".join(lines[:_MOST_LINES])


def _cause(error: BaseException) -> BaseException:
    """Return what a Lambda failed with, which Keras tells as a shape that it cannot infer."""
    inner = error.__context__
    is_said_otherwise = isinstance(error, NotImplementedError) and inner is not None
    return inner if inner is not None and is_said_otherwise else error


def _parts(twin: Any) -> list[Any]:
    return list(twin._flatten_layers())
