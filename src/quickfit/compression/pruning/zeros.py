"""How many weights of a model are zero, and what that saves in a compressed file."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.graph import graph_of
from quickfit.compression.pruning import kinds


@dataclass(frozen=True)
class Zeros:
    """The zeros among the weights of a model.

    Args:
        share: of all weights, biases and statistics included.
        by_layer: the share in the kernel of each layer that has one, by name.
        weight_bytes: the size of all weights.
        gzip_bytes: their size after gzip.
    """

    share: float
    by_layer: Mapping[str, float]
    weight_bytes: int
    gzip_bytes: int


def zeros_in(model: Any) -> Zeros:
    """Count the zeros of a functional or Sequential model, and compress its weights."""
    arrays = [np.asarray(weight) for weight in model.weights]
    content = b"".join(array.tobytes() for array in arrays)
    count = sum(array.size for array in arrays)
    zeros = sum(int((array == 0).sum()) for array in arrays)
    kernels = {call.name: kernel_of(call.layer) for call in graph_of(model).calls}
    by_layer = {
        name: float(np.mean(np.asarray(kernel) == 0))
        for name, kernel in kernels.items()
        if kernel is not None
    }
    compressed = len(gzip.compress(content, mtime=0))
    return Zeros(zeros / max(1, count), by_layer, len(content), compressed)


def kernel_of(layer: Any) -> Any:
    """Return the kernel that magnitude pruning works on, None where there is none."""
    name = kernel_name(layer)
    return getattr(layer, name, None) if name else None


def kernel_name(layer: Any) -> str:
    """Return the name of that kernel's attribute, an empty text where there is none."""
    kind = kinds.kind_of(layer)
    if kind in kinds.SEPARABLE:
        return "pointwise_kernel"
    return "kernel" if kind in kinds.SUMMING else ""
