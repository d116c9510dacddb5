"""Where a person reads what is being done, while `shrink` is called from Python."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable

from quickfit import terminal


def to_reader() -> Callable[[str], None]:
    """Return what writes a line to stderr, where somebody reads it: a terminal or a notebook."""
    stream = sys.stderr
    if stream is None or not (stream.isatty() or hasattr(builtins, "__IPYTHON__")):
        return lambda text: None
    return lambda text: terminal.say(text, stream)
