"""Names the operation that first went non-finite, by looking at what every operation returns.

TensorFlow tells of each operation as it runs. That makes it many times slower, so it is used in a
replay only. The replay runs to its end: a loop that is broken off leaves complaints of
TensorFlow's about what it never used.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Tensors are `Any`: TensorFlow has no types of its own.

_OURS = str(Path(__file__).parent)
_LIBRARIES = (_OURS, "/site-packages/", "/dist-packages/", sysconfig.get_path("stdlib"))
# What comes after the first output of these is room for the way back, with anything in it.
_ONE_OUTPUT = "FusedBatchNorm"
# These return memory that nobody has written to yet.
_UNWRITTEN = ("Empty", "EmptyTensorList")


@dataclass(frozen=True)
class Sighting:
    """An operation that returned numbers that are not finite.

    Attributes:
        op: as TensorFlow calls it.
        place: the line that asked for it; None where it is inside a library.
        is_passed_on: what went in was not finite either.
        is_negative: all that it returned and is not finite is -Inf.
    """

    op: str
    place: str | None
    is_passed_on: bool
    is_negative: bool


class Witness:
    """Sees every operation, and remembers the first that matter.

    Attributes:
        first: returned something that is not finite.
        first_nan: returned NaN though none went in.
    """

    def __init__(self) -> None:
        self.first: Sighting | None = None
        self.first_nan: Sighting | None = None

    @property
    def is_written(self) -> bool:
        """Whether the first infinities are constants of the code, and no operation made them."""
        return self.first is not None and self.first.is_passed_on

    def see(self, kind: Any, given: Any, returned: Any) -> None:
        """Look at one operation."""
        if self.first_nan is not None:
            return  # what comes later came of it, or came too late
        op = kind.decode() if isinstance(kind, bytes) else str(kind)
        if op in _UNWRITTEN:
            return
        bad = _bad_numbers(returned[:1] if op.startswith(_ONE_OUTPUT) else returned)
        if not len(bad):
            return
        before = _bad_numbers(given)
        sighting = Sighting(op, _place(), bool(len(before)), bool((bad < 0).all()))
        if self.first is None:
            self.first = sighting
        if _has_nan(bad) and not _has_nan(before):
            self.first_nan = sighting


def watched(run: Callable[[], object]) -> Witness:
    """Run something eagerly, and return what was seen."""
    witness = Witness()
    with _telling(witness):
        run()
    return witness


def first_bad_op(run: Callable[[], object]) -> tuple[str | None, str | None]:
    """Run something and return the first operation that was not finite, and the line it is from.

    Either is None where it is not known.
    """
    first = watched(run).first
    return (first.op, first.place) if first else (None, None)


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
def _telling(witness: Witness) -> Iterator[None]:
    # What TensorFlow's own check of numbers is built on (2.21); it has no public name.
    from tensorflow.python.framework import op_callbacks

    def hear(kind: Any, inputs: Any, attrs: Any, outputs: Any, *_: Any, **__: Any) -> None:
        witness.see(kind, inputs, outputs)

    op_callbacks.add_op_callback(hear)
    try:
        yield
    finally:
        op_callbacks.remove_op_callback(hear)


def _users_check() -> Any:  # an object of TensorFlow, or None
    from tensorflow.python.debug.lib import check_numerics_callback

    state = getattr(check_numerics_callback, "_state", None)
    return getattr(state, "check_numerics_callback", None)


def _bad_numbers(tensors: Any) -> Any:
    """Return the numbers of eager tensors that are not finite, as one array."""
    import numpy as np

    found = [np.zeros(0)]
    for one in tensors:
        dtype = getattr(one, "dtype", None)
        if hasattr(one, "numpy") and dtype is not None and (dtype.is_floating or dtype.is_complex):
            # bfloat16 is no type of NumPy's own.
            numbers = np.asarray(one.numpy()).astype("complex128" if dtype.is_complex else float)
            numbers = np.abs(numbers) if dtype.is_complex else numbers
            found.append(numbers[~np.isfinite(numbers)])
    return np.concatenate(found)


def _has_nan(numbers: Any) -> bool:
    import numpy as np

    return bool(np.isnan(numbers).any())


def _place() -> str | None:
    """Return the innermost line of the stack that is not in a library."""
    for frame, line in traceback.walk_stack(None):  # the innermost comes first
        if frame.f_code is watched.__code__:
            return None  # further out is who asked for the replay
        name = frame.f_code.co_filename
        if not any(part in name for part in _LIBRARIES):
            return f"{Path(name).name}:{line}"
    return None
