"""Layers refitted to the inputs that are left, so that they make what they made before.

Each layer with a weighted sum gets the weights whose results on the calibration data, computed from
what the smaller model really has at this point, come nearest to the original's, before activation.

A Dense layer on a flattened map has thousands of weights per output, and as many rows as there are
samples. Fitted to them without restraint it would learn the samples by heart. So the pull towards
the old weights is then the one that does best on samples that were held out.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.compression.calibration import LayerRun, Samples, affordable_samples
from quickfit.compression.graph import Call, Graph, graph_of
from quickfit.compression.keras_internals import keras_class_name
from quickfit.compression.least_squares import (
    CHUNK_ROWS,
    RIDGE,
    Array,
    LeastSquares,
    LeastSquaresFit,
)
from quickfit.compression.pruning.channel_removal import PruningPlan, is_changed
from quickfit.compression.pruning.channels import SEPARABLE, TRANSPOSED, Places, is_layer
from quickfit.errors import ModelError

# With so many rows per weight there is nothing to learn by heart.
ENOUGH = 5
# The strongest leaves the old weights as they are.
PULLS = (RIDGE, 3e-2, 1.0, 3e1, 1e3)
HELD_OUT = 4  # every fourth sample
# A matrix of this size is solved in seconds.
MOST_ROWS = 4096


@dataclass(frozen=True)
class FitRows:
    """A least squares problem.

    Args:
        inputs: (rows, weights per output).
        targets: (rows, outputs).
        samples: the sample that each row is from; rows of one sample are alike.
        bias: whether a constant is fitted too.
    """

    inputs: npt.NDArray[np.float32]
    targets: Array
    samples: npt.NDArray[np.int64]
    bias: bool

    def some(self, chosen: npt.NDArray[np.bool_]) -> "FitRows":
        """Return some of the rows."""
        parts = (self.inputs[chosen], self.targets[chosen], self.samples[chosen])
        return FitRows(*parts, self.bias)


def fit_weights(rows: FitRows, prior: Array, name: str) -> LeastSquaresFit:
    """Return the weights that make the targets of the inputs, near to `prior`.

    Raises:
        ModelError: there are values that are not finite.
    """
    if not (np.isfinite(rows.inputs).all() and np.isfinite(rows.targets).all()):
        raise ModelError(
            f"'{name}' cannot be refitted: what goes into it holds values that are not finite (NaN "
            "or infinity). Look for them in the calibration data with numpy.isfinite, and in the "
            "model's output for a few samples."
        )
    count, weights = rows.inputs.shape
    pull = RIDGE if count >= ENOUGH * weights else best_pull(rows, prior)
    return ridge_solver(rows, prior)(pull)


def best_pull(rows: FitRows, prior: Array) -> float:
    """Return the pull that does best on samples that the weights were not fitted to."""
    is_held = rows.samples % HELD_OUT == HELD_OUT - 1
    if not is_held.any() or is_held.all():
        return PULLS[-1]
    taught, asked = ridge_solver(rows.some(~is_held), prior), rows.some(is_held)
    errors = [_relative_error(asked, taught(pull)) for pull in PULLS]
    return PULLS[int(np.argmin(errors))]


def ridge_solver(rows: FitRows, prior: Array) -> Callable[[float], LeastSquaresFit]:
    """Return what gives the best weights for a pull."""
    if len(rows.inputs) < rows.inputs.shape[1]:
        return _through_rows(rows, prior)
    squares = LeastSquares(bias=rows.bias)
    for start in range(0, len(rows.inputs), CHUNK_ROWS):
        chunk = slice(start, start + CHUNK_ROWS)
        squares.add(rows.inputs[chunk], rows.targets[chunk])
    return lambda pull: squares.solution(prior, pull)


def _through_rows(rows: FitRows, prior: Array) -> Callable[[float], LeastSquaresFit]:
    """Solve a problem with fewer rows than weights: its matrix is one of rows."""
    step = -(-len(rows.inputs) // MOST_ROWS)
    x, y = rows.inputs[::step].astype(np.float64), rows.targets[::step]
    middle = (x.mean(axis=0), y.mean(axis=0)) if rows.bias else (0.0, 0.0)
    x, y = x - middle[0], y - middle[1]
    gram, rest = x @ x.T, y - x @ prior

    def best(pull: float) -> LeastSquaresFit:
        weight = pull * float(np.trace(gram)) / x.shape[1]
        weights = prior
        if weight > 0:
            weights = prior + x.T @ np.linalg.solve(gram + weight * np.eye(len(gram)), rest)
        bias: Array | None = middle[1] - middle[0] @ weights if rows.bias else None
        return LeastSquaresFit(
            weights, bias, _relative_error(rows, LeastSquaresFit(weights, bias, 0.0))
        )

    return best


def _relative_error(rows: FitRows, fit: LeastSquaresFit) -> float:
    """Return what is left of the targets, as a share of them."""
    made = rows.inputs @ fit.weights + (0.0 if fit.bias is None else fit.bias)
    around = rows.targets.mean(axis=0) if rows.bias else 0.0
    whole = float(((rows.targets - around) ** 2).sum())
    left = float(((rows.targets - made) ** 2).sum())
    return float(np.sqrt(left / whole)) if whole > 0 else 0.0


# So many places of the feature maps say as much as all of them.
ROWS_PER_WEIGHT = 12_000
# Multiplications for the matrix of one layer: some seconds of a core. Wide layers get fewer rows.
MOST_WORK = ROWS_PER_WEIGHT * 2_000**2
REFIT_BATCH = 64
SHARED_LAYER = (
    "it reads its own results, so its weights are the old ones of the channels that are left"
)


@dataclass(frozen=True)
class RefitResult:
    """What refitting did.

    Args:
        errors: what is left of each layer's results that could not be reproduced, as a share, by
            name of layer.
        left: layers that could not be refitted, and why.
    """

    errors: Mapping[str, float]
    left: Mapping[str, str]


def refit_pruned(
    plan: PruningPlan, student: Any, samples: Samples, *, seed: int = 0
) -> RefitResult:
    """Refit the layers of a model that `cut` made, in place, in the order of the model."""
    layers, looping = refit_order(plan)
    run = _ModelPair(plan, student, samples, layers)
    draw = np.random.default_rng(seed)
    errors = {calls[0].name: _refit_layer(plan, run, calls, draw) for calls in run.layers}
    return RefitResult(errors, dict.fromkeys(looping, SHARED_LAYER))


class _ModelPair:
    """Both models on the calibration data, side by side."""

    def __init__(self, plan: PruningPlan, student: Any, samples: Samples, layers: list[list[Call]]):
        graph, ours = plan.trace.graph, graph_of(student)
        kept = affordable_samples(graph, samples)
        self._numbers = same_tensors(graph, ours)
        # A nested model may have results that nobody uses: they are not in the smaller model.
        used = [[c for c in calls if c.outputs[0] in self._numbers] for calls in layers]
        self.layers = [calls for calls in used if calls]
        wanted = [call.inputs[0] for calls in self.layers for call in calls]
        self.batches = -(-len(kept) // REFIT_BATCH)
        self.student = {call.name: call.layer for call in ours.calls}
        self._old = LayerRun(graph, kept, wanted, batch=REFIT_BATCH)
        twins = [self._numbers[tensor] for tensor in wanted]
        self._new = LayerRun(ours, kept, twins, batch=REFIT_BATCH)

    def inputs(self, calls: list[Call]) -> Iterator[tuple[Any, Any]]:
        """Yield what goes into a layer in the original and in the smaller model, by batch."""
        for call in calls:
            tensor = call.inputs[0]
            both = (self._old.batches(tensor), self._new.batches(self._numbers[tensor]))
            for old, new in zip(*both, strict=True):
                yield np.asarray(old, np.float32), np.asarray(new, np.float32)


def _refit_layer(
    plan: PruningPlan, run: _ModelPair, calls: list[Call], draw: np.random.Generator
) -> float:
    """Refit one layer; return its error."""
    layer, copy = calls[0].layer, run.student[calls[0].name]
    if keras_class_name(layer) in TRANSPOSED:
        count = max(1, ROWS_PER_WEIGHT // (run.batches * len(calls)))
        return _refit_transposed(
            plan, layer, copy, _channel_rows(layer, run.inputs(calls), count, draw)
        )
    kept = plan.kept(plan.trace.made[id(layer)])
    fit = fit_weights(_layer_rows(run, calls, kept, draw), matrix_of(copy), calls[0].name)
    set_matrix(copy, fit.weights, fit.bias)
    return fit.error


def _layer_rows(
    run: _ModelPair, calls: list[Call], kept: Places, draw: np.random.Generator
) -> FitRows:
    """Return inputs of the smaller model's layer, and what the original makes of its own."""
    layer, copy = calls[0].layer, run.student[calls[0].name]
    matrix = matrix_of(layer)[:, kept]
    offset = np.asarray(layer.bias, np.float64)[kept] if layer.use_bias else 0.0
    count = max(1, affordable_rows(len(matrix_of(copy))) // (run.batches * len(calls)))
    parts = []
    for number, (old, new) in enumerate(run.inputs(calls)):
        places = pick_places(layer, old.shape, count, draw)
        with np.errstate(invalid="ignore", over="ignore"):  # told before they are fitted
            targets = rows_of(layer, old, places).astype(np.float64) @ matrix + offset
        sample = number % run.batches * REFIT_BATCH + sample_of(layer, old.shape, places)
        parts.append((rows_of(copy, new, places), targets, sample))
    inputs, targets, samples = (np.concatenate(part) for part in zip(*parts, strict=True))
    return FitRows(inputs, targets, samples, layer.use_bias)


def affordable_rows(weights: int) -> int:
    """Return how many rows a layer is refitted on, by its number of weights per output.

    The work is rows · weights², or with fewer rows than weights, weights · rows².
    """
    rows = MOST_WORK // max(1, weights) ** 2
    return min(ROWS_PER_WEIGHT, rows if rows >= weights else math.isqrt(MOST_WORK // weights))


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


def _refit_transposed(
    plan: PruningPlan, layer: Any, copy: Any, pairs: Iterator[tuple[Any, Any]]
) -> float:
    """Refit a transposed convolution: guess the channels that are gone from those that are left.

    The guess is a matrix, and goes into the kernel. It is not the best kernel there is, but needs
    no thought of how windows overlap.
    """
    import keras

    kept = plan.kept(plan.trace.read[id(layer)])
    outputs = plan.kept(plan.trace.made[id(layer)])
    squares = LeastSquares()
    for old, new in pairs:
        squares.add(new, old)
    kernel = np.asarray(layer.kernel, np.float64)
    fit = squares.solution(np.eye(kernel.shape[-1])[kept], RIDGE)
    new_kernel = np.take(kernel, outputs, axis=-2) @ fit.weights.T
    copy.kernel.assign(keras.ops.cast(new_kernel, copy.kernel.dtype))
    return fit.error


def refit_order(plan: PruningPlan) -> tuple[list[list[Call]], list[str]]:
    """Return the layers to refit, as all calls of each, and the names of those that cannot be.

    A layer that reads its own results, through whatever lies between, cannot be: with new weights
    its inputs would be others.
    """
    graph = plan.trace.graph
    before = _layers_before(graph)
    needs = {
        key: _layers_needed(graph, key, before) for key in plan.trace.made if key in plan.trace.read
    }
    changed = {id(call.layer) for call in graph.calls if is_changed(plan, call)}
    wanted = {key: some for key, some in needs.items() if some & changed}
    looping = {key for key in wanted if key in wanted[key]}
    order: list[int] = []
    while len(order) < len(wanted) - len(looping):
        open_ = wanted.keys() - looping - set(order)
        order.extend(key for key in wanted if key in open_ and not wanted[key] & open_)
    calls = {id(call.layer): graph.calls_of(call.layer) for call in graph.calls}
    return [calls[key] for key in order], [calls[key][0].name for key in wanted if key in looping]


def _layers_needed(graph: Graph, key: int, before: dict[int, frozenset[int]]) -> frozenset[int]:
    """Return the layers that a layer's inputs come through."""
    calls = [call for call in graph.calls if id(call.layer) == key]
    return frozenset().union(*(before[tensor] for call in calls for tensor in call.inputs))


def _layers_before(graph: Graph) -> dict[int, frozenset[int]]:
    """Return the layers with weights that each tensor comes through."""
    before: dict[int, frozenset[int]] = {tensor: frozenset() for tensor in graph.inputs}
    for call in graph.calls:
        through = frozenset().union(*(before[tensor] for tensor in call.inputs))
        if is_layer(call.layer) and call.layer.weights:
            through |= {id(call.layer)}
        before.update(dict.fromkeys(call.outputs, through))
    return before


def same_tensors(graph: Graph, other: Graph) -> dict[int, int]:
    """Return for each tensor of a graph its number in the graph of a model made from it.

    Results that nobody uses are missing there.
    """
    numbers = dict(zip(graph.inputs, other.inputs, strict=True))
    for call in graph.calls:
        inputs = tuple(numbers.get(tensor, -1) for tensor in call.inputs)
        for twin in other.calls:
            if twin.name == call.name and twin.inputs == inputs:
                numbers.update(zip(call.outputs, twin.outputs, strict=True))
    return numbers


def pick_places(layer: Any, shape: tuple[int, ...], count: int, draw: np.random.Generator) -> Any:
    """Return which places of which samples to look at: all, or `count` drawn ones, as numbers.

    Args:
        layer: the layer that reads the values.
        shape: the shape of the values, the samples first.
        count: how many places at most.
        draw: draws them.
    """
    total = shape[0] * math.prod(_output_sizes(layer, shape))
    if total <= count:
        return np.arange(total)
    return np.sort(draw.choice(total, size=count, replace=False))


def sample_of(layer: Any, shape: tuple[int, ...], places: Any) -> Any:
    """Return the sample of each place."""
    return places // math.prod(_output_sizes(layer, shape))


def rows_of(layer: Any, values: Any, places: Any) -> Any:
    """Return (rows, weights per output): what the layer's kernel is multiplied with.

    Args:
        layer: a Dense layer, a convolution or a separable convolution.
        values: what goes into it.
        places: the places, as `picks` returned them.
    """
    kind = keras_class_name(layer)
    if kind == "Dense":
        return values.reshape(-1, values.shape[-1])[places]
    if kind in SEPARABLE:
        values = _depthwise_output(layer, values)
    values = _channels_last(layer, values)
    if kind in SEPARABLE:
        return values.reshape(-1, values.shape[-1])[places]
    return _kernel_windows(layer, values, places)


def matrix_of(layer: Any) -> Any:
    """Return the kernel as (weights per output, outputs), in the order of the rows."""
    kernel = layer.pointwise_kernel if keras_class_name(layer) in SEPARABLE else layer.kernel
    array = np.asarray(kernel, np.float64)
    return array.reshape(-1, array.shape[-1])


def set_matrix(layer: Any, matrix: Any, bias: Any) -> None:
    """Give a layer a new kernel, and a new bias where it has one."""
    import keras

    kernel = layer.pointwise_kernel if keras_class_name(layer) in SEPARABLE else layer.kernel
    kernel.assign(keras.ops.cast(matrix.reshape(kernel.shape), kernel.dtype))
    if bias is not None:
        layer.bias.assign(keras.ops.cast(bias, layer.bias.dtype))


def _output_sizes(layer: Any, shape: tuple[int, ...]) -> list[int]:
    """Return the sizes of the layer's output, without samples and channels."""
    kind = keras_class_name(layer)
    if kind == "Dense":
        return list(shape[1:-1])
    out = layer.compute_output_shape(shape)
    return list(out[2:] if layer.data_format == "channels_first" else out[1:-1])


def _channels_last(layer: Any, values: Any) -> Any:
    return np.moveaxis(values, 1, -1) if layer.data_format == "channels_first" else values


def _depthwise_output(layer: Any, values: Any) -> Any:
    """Return what the depthwise half of a separable convolution makes."""
    import keras

    strides, dilation = tuple(layer.strides), tuple(layer.dilation_rate)
    padding = layer.padding
    if padding == "causal":  # one-dimensional only
        left = dilation[0] * (layer.kernel_size[0] - 1)
        pads = [(0, 0), (left, 0), (0, 0)]
        is_first = layer.data_format == "channels_first"
        values = np.pad(values, [pads[0], pads[2], pads[1]] if is_first else pads)
        padding = "valid"
    kernel = keras.ops.cast(layer.depthwise_kernel, values.dtype)
    made = keras.ops.depthwise_conv(values, kernel, strides, padding, layer.data_format, dilation)
    return np.asarray(made)


def _kernel_windows(layer: Any, values: Any, places: Any) -> Any:
    """Return the inputs under the kernel at each of the places, as rows."""
    reach = [(k - 1) * d + 1 for k, d in zip(layer.kernel_size, layer.dilation_rate, strict=True)]
    sizes = values.shape[1:-1]
    outputs = (
        _output_sizes(layer, tuple(values.shape)) if layer.data_format != "channels_first" else None
    )
    if outputs is None:
        outputs = _output_sizes(layer, (values.shape[0], values.shape[-1], *sizes))
    pads = [
        _zeros_around(layer.padding, size, r, (out - 1) * s)
        for size, r, out, s in zip(sizes, reach, outputs, layer.strides, strict=True)
    ]
    padded = np.pad(values, [(0, 0), *pads, (0, 0)])
    sample, *position = np.unravel_index(places, (len(values), *outputs))
    index: list[Any] = [sample.reshape(-1, *[1] * len(reach))]
    for axis, (at, k) in enumerate(zip(position, layer.kernel_size, strict=True)):
        shape = [1] * len(reach)
        shape[axis] = k
        steps = (np.arange(k) * layer.dilation_rate[axis]).reshape(1, *shape)
        index.append((at * layer.strides[axis]).reshape(-1, *[1] * len(reach)) + steps)
    return padded[tuple(index)].reshape(len(places), -1)


def _zeros_around(padding: str, size: int, reach: int, last: int) -> tuple[int, int]:
    """Return how many zeros are put before and after an axis.

    Args:
        padding: as the layer has it.
        size: the size of the axis.
        reach: how far the kernel reaches.
        last: where the last window starts.
    """
    if padding == "causal":
        return reach - 1, 0
    missing = max(last + reach - size, 0) if padding == "same" else 0
    return missing // 2, missing - missing // 2
