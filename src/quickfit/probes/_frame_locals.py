"""Reads the local variables of a function that runs, and leaves no copy of them behind.

Before Python 3.13 a frame that is asked for its variables keeps a copy of all of them until the
function returns. Such a copy of `fit` kept the iterator of the first epoch alive to the end of the
training, and TensorFlow's wait for the end of an iterator is as long as the iterator is old.
"""

from __future__ import annotations

import sys
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

# A function that asks for its local variables must find them as it left them.
_READS_LOCALS = {"locals", "vars", "dir", "eval", "exec", "_getframe"}
_FUNCTION = CO_OPTIMIZED | CO_NEWLOCALS


def read_locals(frame: FrameType) -> dict[str, Any]:
    """Return the local variables of a frame.

    While a debugger looks at a frame, Python 3.11 copies its variables out and in again, and what
    is missing then is gone: the copy of a frame that is traced is left as it is.
    """
    copy = frame.f_locals
    found = dict(copy)
    if sys.version_info < (3, 13) and frame.f_trace is None and keeps_no_locals(frame.f_code):
        copy.clear()
    return found


def keeps_no_locals(code: CodeType) -> bool:
    """Tell whether a function never sees the copy of its variables."""
    return code.co_flags & _FUNCTION == _FUNCTION and not _READS_LOCALS & {*code.co_names}
