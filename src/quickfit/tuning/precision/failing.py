"""Finds the layer that an error came from, and tells errors of Keras in a few lines."""

from __future__ import annotations

import re
import traceback
from typing import Any

# Layers of Keras are `Any`: Keras has no types of its own.

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Keras ends its messages with all arguments of the call.
_ARGUMENTS = "Arguments received by"
_MOST_LINES = 4


def failed_layer(error: BaseException, pairs: list[tuple[Any, Any]]) -> Any:
    """Return the layer in whose copy an error happened, the innermost one; None if in none.

    Args:
        error: as it was raised.
        pairs: layers and their copies.
    """
    owners = {id(part): layer for layer, twin in pairs for part in _parts(twin)}
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        found = owners.get(id(frame.f_locals.get("self")), found)
    return found


def told(error: BaseException) -> str:
    """Return an error of Keras as its first lines, without colours and arguments."""
    text = _COLOURS.sub("", str(error)).split(_ARGUMENTS)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: " + "\n".join(lines[:_MOST_LINES])


def _parts(twin: Any) -> list[Any]:
    return list(twin._flatten_layers())
