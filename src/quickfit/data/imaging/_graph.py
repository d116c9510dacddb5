"""What the parts of the pipeline say about TensorFlow: its types, and calls into Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quickfit.data import graph
from quickfit.data.graph import Dataset, Dtype, Tensor, plain

__all__ = ["Dataset", "Tensor", "in_python", "plain"]


def in_python(
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
    return graph.in_python(function, inputs, (dtype, shape))[0]
