"""Calls from a pipeline's graph into Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quickfit.data.calls import CALLS

# TensorFlow has no types that a checker could read.
Tensor = Any
Dataset = Any
Dtype = Any

F = TypeVar("F", bound=Callable[..., Any])


def plain(function: F) -> F:
    """Return the function as it is for TensorFlow: AutoGraph has nothing to rewrite in ours."""
    import tensorflow as tf

    wrapped: F = tf.autograph.experimental.do_not_convert(function)
    return wrapped


def in_python(
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
        return [_empty(tf.as_dtype(dtype), shape) for dtype, shape in results]

    lasting = CALLS.lasting(function, nothing if len(results) > 1 else lambda: nothing()[0])
    tensors = tf.numpy_function(lasting, inputs, [dtype for dtype, _ in results])
    for tensor, (_, shape) in zip(tensors, results, strict=True):
        tensor.set_shape(shape)
    return list(tensors)


def _empty(dtype: Dtype, shape: Sequence[int | None]) -> NDArray[Any]:  # of any kind
    sides = [side or 0 for side in shape]
    is_text = dtype.name == "string"
    return np.full(sides, b"", object) if is_text else np.zeros(sides, dtype.as_numpy_dtype)
