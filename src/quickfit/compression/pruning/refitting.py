"""Layers refitted to the inputs that are left, so that they make what they made before.

Each layer with a weighted sum gets the weights whose results on the calibration data, computed from
what the smaller model really has at this point, come nearest to the original's, before activation.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.calibration import Running, Samples, affordable
from quickfit.compression.graph import Call, graph_of
from quickfit.compression.pruning import kinds
from quickfit.compression.pruning.atoms import Places
from quickfit.compression.pruning.choosing import Plan
from quickfit.compression.pruning.fitting import Rows, fitted
from quickfit.compression.pruning.order import refit_order, same_tensors
from quickfit.compression.pruning.rows import matrix_of, picks, rows_of, sample_of, set_matrix
from quickfit.compression.squares import RIDGE, Squares

# So many places of the feature maps say as much as all of them.
ROWS = 12_000
# Multiplications for the matrix of one layer: some seconds of a core. Wide layers get fewer rows.
WORK = ROWS * 2_000**2
BATCH = 64
SELF = "it reads its own results, so its weights are the old ones of the channels that are left"


@dataclass(frozen=True)
class Refit:
    """What refitting did.

    Args:
        errors: what is left of each layer's results that could not be reproduced, as a share, by
            name of layer.
        left: layers that could not be refitted, and why.
    """

    errors: Mapping[str, float]
    left: Mapping[str, str]


def refit(plan: Plan, student: Any, samples: Samples, *, seed: int = 0) -> Refit:
    """Refit the layers of a model that `cut` made, in place, in the order of the model."""
    layers, looping = refit_order(plan)
    run = _Run(plan, student, samples, layers)
    draw = np.random.default_rng(seed)
    errors = {calls[0].name: _refitted(plan, run, calls, draw) for calls in run.layers}
    return Refit(errors, dict.fromkeys(looping, SELF))


class _Run:
    """Both models on the calibration data, side by side."""

    def __init__(self, plan: Plan, student: Any, samples: Samples, layers: list[list[Call]]):
        graph, ours = plan.trace.graph, graph_of(student)
        kept = affordable(graph, samples)
        self._numbers = same_tensors(graph, ours)
        # A nested model may have results that nobody uses: they are not in the smaller model.
        used = [[c for c in calls if c.outputs[0] in self._numbers] for calls in layers]
        self.layers = [calls for calls in used if calls]
        wanted = [call.inputs[0] for calls in self.layers for call in calls]
        self.batches = -(-len(kept) // BATCH)
        self.student = {call.name: call.layer for call in ours.calls}
        self._old = Running(graph, kept, wanted, batch=BATCH)
        twins = [self._numbers[tensor] for tensor in wanted]
        self._new = Running(ours, kept, twins, batch=BATCH)

    def inputs(self, calls: list[Call]) -> Iterator[tuple[Any, Any]]:
        """Yield what goes into a layer in the original and in the smaller model, by batch."""
        for call in calls:
            tensor = call.inputs[0]
            both = (self._old.batches(tensor), self._new.batches(self._numbers[tensor]))
            for old, new in zip(*both, strict=True):
                yield np.asarray(old, np.float32), np.asarray(new, np.float32)


def _refitted(plan: Plan, run: _Run, calls: list[Call], draw: np.random.Generator) -> float:
    """Refit one layer; return its error."""
    layer, copy = calls[0].layer, run.student[calls[0].name]
    if kinds.kind_of(layer) in kinds.TRANSPOSED:
        count = max(1, ROWS // (run.batches * len(calls)))
        return _mixed(plan, layer, copy, _channel_rows(layer, run.inputs(calls), count, draw))
    kept = plan.kept(plan.trace.made[id(layer)])
    fit = fitted(_rows(run, calls, kept, draw), matrix_of(copy), calls[0].name)
    set_matrix(copy, fit.weights, fit.bias)
    return fit.error


def _rows(run: _Run, calls: list[Call], kept: Places, draw: np.random.Generator) -> Rows:
    """Return inputs of the smaller model's layer, and what the original makes of its own."""
    layer, copy = calls[0].layer, run.student[calls[0].name]
    matrix = matrix_of(layer)[:, kept]
    offset = np.asarray(layer.bias, np.float64)[kept] if layer.use_bias else 0.0
    count = max(1, affordable_rows(len(matrix_of(copy))) // (run.batches * len(calls)))
    parts = []
    for number, (old, new) in enumerate(run.inputs(calls)):
        places = picks(layer, old.shape, count, draw)
        with np.errstate(invalid="ignore", over="ignore"):  # told before they are fitted
            targets = rows_of(layer, old, places).astype(np.float64) @ matrix + offset
        sample = number % run.batches * BATCH + sample_of(layer, old.shape, places)
        parts.append((rows_of(copy, new, places), targets, sample))
    inputs, targets, samples = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Rows(inputs, targets, samples, layer.use_bias)


def affordable_rows(weights: int) -> int:
    """Return how many rows a layer is refitted on, by its number of weights per output.

    The work is rows · weights², or with fewer rows than weights, weights · rows².
    """
    rows = WORK // max(1, weights) ** 2
    return min(ROWS, rows if rows >= weights else math.isqrt(WORK // weights))


def _channel_rows(
    layer: Any, pairs: Iterator[tuple[Any, Any]], count: int, draw: np.random.Generator
) -> Iterator[tuple[Any, Any]]:
    """Yield the channels of old and new inputs as rows, at places that are drawn."""
    for both in pairs:
        if layer.data_format == "channels_first":
            both = tuple(np.moveaxis(one, 1, -1) for one in both)
        old, new = (one.reshape(-1, one.shape[-1]) for one in both)
        places = draw.choice(len(old), size=min(count, len(old)), replace=False)
        yield old[places], new[places]


def _mixed(plan: Plan, layer: Any, copy: Any, pairs: Iterator[tuple[Any, Any]]) -> float:
    """Refit a transposed convolution: guess the channels that are gone from those that are left.

    The guess is a matrix, and goes into the kernel. It is not the best kernel there is, but needs
    no thought of how windows overlap.
    """
    import keras

    kept = plan.kept(plan.trace.read[id(layer)])
    outputs = plan.kept(plan.trace.made[id(layer)])
    squares = Squares()
    for old, new in pairs:
        squares.add(new, old)
    kernel = np.asarray(layer.kernel, np.float64)
    fit = squares.solution(np.eye(kernel.shape[-1])[kept], RIDGE)
    new_kernel = np.take(kernel, outputs, axis=-2) @ fit.weights.T
    copy.kernel.assign(keras.ops.cast(new_kernel, copy.kernel.dtype))
    return fit.error
