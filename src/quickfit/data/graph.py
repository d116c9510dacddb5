"""Calls from a pipeline's graph into Python, and their end before the interpreter's."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Dataset",
    "Dtype",
    "PYTHON_CALLS",
    "PythonCalls",
    "Tensor",
    "_Function",
    "tensors_from_python",
    "tensor_from_python",
    "without_autograph",
]

# The buffers of a pipeline fill up with nothing and then ask no more: this long nobody asked.
_QUIET_S = 0.05
_LOOK_S = 0.005
# A disk that hangs must not keep a script from ending as it would without us.
_MOST_S = 10.0
_END = object()
# TensorFlow has no types that a checker could read.
Tensor = Any
Dataset = Any
Dtype = Any
_Function = TypeVar("_Function", bound=Callable[..., Any])


class PythonCalls:
    """The calls into Python of all pipelines."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._made = 0
        self._is_over = False
        self._is_registered = False

    def lasting(
        self, function: Callable[..., Any], nothing: Callable[[], Any]
    ) -> Callable[..., Any]:
        """Return the function, which the interpreter waits for (`Any`: arrays of any kind).

        Args:
            function: is called by a pipeline.
            nothing: makes what it returns once the script has ended.
        """
        self._register()

        def call(*arrays: Any) -> Any:
            with self._lock:
                self._made += 1
                if self._is_over:
                    return nothing()
                self._inside += 1
            try:
                return function(*arrays)
            finally:
                with self._lock:
                    self._inside -= 1

        return call

    def lasting_passes(
        self, begin: Callable[[], Iterator[Any]]
    ) -> Callable[[], Iterator[Any]]:  # Any: batches of any kind
        """Return a generator function each of whose steps the interpreter waits for."""

        def passes() -> Iterator[Any]:
            batches = begin()
            step = self.lasting(lambda: next(batches, _END), lambda: _END)
            while (batch := step()) is not _END:
                yield batch

        return passes

    def _register(self) -> None:
        with self._lock:
            is_new, self._is_registered = not self._is_registered, True
        if is_new:
            atexit.register(self.end)

    def end(
        self,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Wait until all calls have returned and no new ones come."""
        with self._lock:
            self._is_over = True
        began = quiet_since = now()
        made = -1
        while now() - quiet_since < _QUIET_S and now() - began < _MOST_S:
            sleep(_LOOK_S)
            with self._lock:
                is_quiet = not self._inside and made == self._made
                made = self._made
            if not is_quiet:
                quiet_since = now()


PYTHON_CALLS = PythonCalls()


def without_autograph(function: _Function) -> _Function:
    """Return the function as it is for TensorFlow: AutoGraph has nothing to rewrite in ours."""
    import tensorflow as tf

    wrapped: _Function = tf.autograph.experimental.do_not_convert(function)
    return wrapped


def tensors_from_python(
    function: Callable[..., Any],  # of arrays, to arrays
    inputs: Sequence[Tensor],
    *results: tuple[Dtype, Sequence[int | None]],
) -> list[Tensor]:
    """Return the results of a Python function of arrays, called when the pipeline runs.

    Args:
        function: takes arrays and returns as many as there are `results`.
        inputs: the tensors it gets.
        results: the type and the shape of each, as far as it is known.
    """
    import tensorflow as tf

    def nothing() -> list[NDArray[Any]]:
        return [_empty_result(tf.as_dtype(dtype), shape) for dtype, shape in results]

    lasting = PYTHON_CALLS.lasting(function, nothing if len(results) > 1 else lambda: nothing()[0])
    tensors = tf.numpy_function(lasting, inputs, [dtype for dtype, _ in results])
    for tensor, (_, shape) in zip(tensors, results, strict=True):
        tensor.set_shape(shape)
    return list(tensors)


def _empty_result(dtype: Dtype, shape: Sequence[int | None]) -> NDArray[Any]:  # of any kind
    sides = [side or 0 for side in shape]
    is_text = dtype.name == "string"
    return np.full(sides, b"", object) if is_text else np.zeros(sides, dtype.as_numpy_dtype)


def tensor_from_python(
    function: Callable[..., Any],  # of arrays, to one array
    inputs: Sequence[Tensor],
    dtype: Dtype,
    shape: Sequence[int | None],
) -> Tensor:
    """Return the result of a Python function of arrays, called when the pipeline runs.

    Args:
        function: takes arrays and returns one.
        inputs: the tensors it gets.
        dtype: of its result, as TensorFlow has it.
        shape: of its result, as far as it is known.
    """
    return tensors_from_python(function, inputs, (dtype, shape))[0]
