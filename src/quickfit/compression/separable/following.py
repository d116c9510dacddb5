"""The batch normalization behind a convolution, and what it makes important."""

from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.compression.graph import Graph
from quickfit.compression.norms.kinds import is_norm

# An output that the normalization silences is still fitted, if with the least weight.
LEAST_IMPORTANCE = 1e-3


def norm_after(graph: Graph, layer: Any) -> Any:
    """Return the normalization that alone reads what a layer makes; None where there is none."""
    import keras

    calls = graph.calls_of(layer)
    made = calls[0].outputs[0]
    users = graph.users(made)
    if len(calls) > 1 or len(users) != 1 or made in graph.outputs or not is_norm(users[0].layer):
        return None
    norm = users[0].layer
    is_shared = len(graph.calls_of(norm)) > 1
    is_last = norm.axis % len(graph.shape_of(made)) == len(graph.shape_of(made)) - 1
    is_direct = layer.activation in (None, keras.activations.linear)
    return norm if is_direct and is_last and not is_shared else None


def importance(norm: Any) -> npt.NDArray[np.float64]:
    """Return how much an error of each channel counts behind a normalization: alike without one."""
    if norm is None:
        return np.ones(1)
    factor = 1.0 / np.sqrt(np.asarray(norm.moving_variance, np.float64) + norm.epsilon)
    if norm.scale:
        factor = factor * np.abs(np.asarray(norm.gamma, np.float64))
    least = LEAST_IMPORTANCE * float(factor.mean())
    return np.maximum(factor, least) if least > 0 else np.ones_like(factor)
