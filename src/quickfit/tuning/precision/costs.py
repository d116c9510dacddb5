"""How much each layer of a model multiplies, roughly: what shares and sizes are told by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from quickfit.tuning.precision.layers import every_layer, graph_layers, is_graph

# Models, layers and tensors of Keras are `Any`: Keras has no types of its own.

# A multiplication and an addition, forward once and backward twice.
STEP_FLOPS = 6


@dataclass(frozen=True)
class Cost:
    """One layer and its multiplications for one sample."""

    layer: Any
    products: int


def costs_of(model: Any) -> list[Cost]:
    """Return the layers that multiply with weights; in a model of its own class, by weights alone.

    Lookups such as Embedding multiply nothing.
    """
    layers = list(graph_layers(model)) if is_graph(model) else every_layer(model)
    costs = [Cost(layer, _products(layer, is_known=is_graph(model))) for layer in layers]
    return [cost for cost in costs if cost.products]


def step_flops(costs: list[Cost], batch: int) -> int:
    """Return the floating point operations of one training step."""
    return STEP_FLOPS * batch * sum(cost.products for cost in costs)


def _products(layer: Any, *, is_known: bool) -> int:
    if "Embedding" in type(layer).__name__:
        return 0
    # The parts of a layer have no calls of their own in the graph; its weights include theirs.
    weights = layer.weights if is_known else _own_weights(layer)
    products: int = sum(math.prod(weight.shape) for weight in weights if len(weight.shape) >= 2)
    return products * _positions(layer) if is_known else products


def _own_weights(layer: Any) -> list[Any]:
    parts = {id(weight) for part in every_layer(layer) for weight in part.weights}
    return [weight for weight in layer.weights if id(weight) not in parts]


def _positions(layer: Any) -> int:
    """Return how often the weights are used for one sample: pixels, or steps in time."""
    kind = type(layer).__name__
    is_convolution = "Conv" in kind and "Transpose" not in kind
    total = 0
    for node in layer._inbound_nodes:
        tensors = node.outputs if is_convolution else node.input_tensors
        sizes = tensors[0].shape[1:-1] if tensors and len(tensors[0].shape) > 2 else ()
        total += math.prod(size or 1 for size in sizes)
    return max(total, 1)
