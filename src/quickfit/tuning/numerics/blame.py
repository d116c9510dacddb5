"""Names the operation that first went non-finite, with TensorFlow's own check of every one.

The check is on for all of TensorFlow and makes it nine times slower, so it is used in a replay
only and always turned off again. It does not compile under XLA: replays are eager.
"""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

# How TensorFlow 2.16 to 2.21 word it: … in output 0 of eagerly-executing op "Log" (# of …
# Some operations come as bytes: op "b'Mean'".
_OP = re.compile(r"""op "(?:b')?(\w+)""")
_OURS = str(Path(__file__).parent)
_LIBRARIES = (_OURS, "/site-packages/", "/dist-packages/", sysconfig.get_path("stdlib"))


def first_bad_op(run: Callable[[], object]) -> tuple[str | None, str | None]:
    """Run something and return the first operation that was not finite, and the line it is from.

    Either is None where it is not known.
    """
    import tensorflow as tf

    try:
        with _checking():
            run()
    except tf.errors.InvalidArgumentError as error:
        said = _OP.search(str(error))
        return (said.group(1) if said else None), _place(error.__traceback__)
    return None, None


@contextmanager
def unchecked() -> Iterator[None]:
    """Turn TensorFlow's check off for a while, where the user has turned it on."""
    import tensorflow as tf

    callback = _users_check()
    if callback is None:
        yield
        return
    tf.debugging.disable_check_numerics()
    try:
        yield
    finally:
        tf.debugging.enable_check_numerics()


@contextmanager
def _checking() -> Iterator[None]:
    import tensorflow as tf

    tf.debugging.enable_check_numerics()
    try:
        yield
    finally:
        tf.debugging.disable_check_numerics()


def _users_check() -> Any:  # an object of TensorFlow, or None
    from tensorflow.python.debug.lib import check_numerics_callback

    state = getattr(check_numerics_callback, "_state", None)
    return getattr(state, "check_numerics_callback", None)


def _place(trace: TracebackType | None) -> str | None:
    """Return the innermost line of a traceback that is not in a library."""
    for frame in reversed(traceback.extract_tb(trace)):
        if not any(part in frame.filename for part in _LIBRARIES):
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return None
