"""The two halves of a convolution, fitted to do what the convolution did.

Each is fitted on what really reaches it in the new model, so it makes good what those before it
could not do. No labels are needed.

The best filters of a kernel by itself are not the best ones for what the kernel sees, and channels
can make good what others leave out. One look at the samples is enough: all that follows works on
the sums of their products.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.compression.batch_norm import is_norm
from quickfit.compression.calibration import LayerRun, Samples
from quickfit.compression.copying import copy_flags, fresh_layer, rebuild_graph
from quickfit.compression.graph import Call, Graph
from quickfit.compression.least_squares import LeastSquares, LeastSquaresFit
from quickfit.errors import ModelError


@dataclass(frozen=True, eq=False)
class SplitConvolution:
    """The two layers that stand in place of a convolution.

    Args:
        name: the name of the convolution.
        layer: the convolution itself: to read.
        depthwise: filters each channel by itself.
        pointwise: mixes the channels; bias and activation are here.
    """

    name: str
    layer: Any
    depthwise: Any
    pointwise: Any

    @property
    def rank(self) -> int:
        """How many filters every channel has."""
        return int(self.depthwise.depth_multiplier)

    def called(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what the halves make, called as the convolution was."""
        return self.pointwise(call.replay(self.depthwise, tensors))

    def set_kernels(self, depthwise: Any, pointwise: Any) -> None:
        """Give both halves new kernels; the pointwise one as (channels · rank, filters)."""
        for variable, values in (
            (self.depthwise.kernel, depthwise),
            (self.pointwise.kernel, pointwise[None, None]),
        ):
            assign_values(variable, values)


def assign_values(variable: Any, values: Any) -> None:
    """Store values in a variable, in its own dtype."""
    import keras

    variable.assign(keras.ops.cast(np.asarray(values, np.float32), variable.dtype))


def split_convolutions(
    graph: Graph, ranks: Mapping[str, int]
) -> tuple[Any, list[SplitConvolution]]:
    """Return the model with some convolutions in halves, split by their weights alone.

    Args:
        graph: the graph of the model.
        ranks: how many filters per channel, by name of convolution.

    Returns:
        The new model, and its halves in the order of `ranks`.
    """
    names = _UnusedNames((call.name for call in graph.calls), graph.input_names)
    made: dict[str, SplitConvolution] = {}

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if call.name not in ranks:
            return None
        halves = made.get(call.name)
        if halves is not None:
            return halves.called(call, tensors)
        halves = made[call.name] = _build_halves(graph, call, ranks[call.name], names)
        result = halves.called(call, tensors)
        _fill_halves(call, halves)
        return result

    model = rebuild_graph(graph, make)
    return model, [made[name] for name in ranks]


def _build_halves(graph: Graph, call: Call, rank: int, names: "_UnusedNames") -> SplitConvolution:
    import keras

    layer = call.layer
    # Keras calls an output after the layer that makes it, and losses are given by these names.
    is_output = any(c.outputs[0] in graph.outputs for c in graph.calls_of(layer))
    pointwise = fresh_layer(
        layer,
        name=call.name if is_output else names.free(f"{call.name}_pointwise"),
        kernel_size=(1, 1),
        strides=(1, 1),
        dilation_rate=(1, 1),
        padding="valid",
        kernel_initializer="zeros",
    )
    depthwise = keras.layers.DepthwiseConv2D(
        layer.kernel_size,
        strides=layer.strides,
        padding=layer.padding,
        dilation_rate=layer.dilation_rate,
        depth_multiplier=rank,
        data_format=layer.data_format,
        use_bias=False,
        depthwise_initializer="zeros",
        depthwise_regularizer=layer.kernel_regularizer,
        name=names.free(f"{call.name}_depthwise"),
        dtype=pointwise.dtype_policy,
    )
    return SplitConvolution(call.name, layer, depthwise, pointwise)


def _fill_halves(call: Call, halves: SplitConvolution) -> None:
    """Give the built halves their weights and flags."""
    kernel = np.asarray(call.layer.kernel, np.float64)
    if not np.isfinite(kernel).all():
        raise ModelError(
            f"The convolution '{call.name}' cannot be rewritten: its kernel holds values that are "
            "not finite (NaN or infinity). Take weights from before the training went wrong."
        )
    halves.set_kernels(*split_kernel(kernel, halves.rank))
    if call.layer.use_bias:
        halves.pointwise.bias.assign(call.layer.bias)
    for half in (halves.depthwise, halves.pointwise):
        copy_flags(call.layer, half, trainable=call.trainable)


class _UnusedNames:
    def __init__(self, *taken: Iterable[str]) -> None:
        self._taken = {name for names in taken for name in names}

    def free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name


FilterArray = npt.NDArray[np.float64]

# After four turns the error has made most of its way; ten more change no accuracy.
TURNS = 4
# Pulls filters towards what they were, in units of the inputs' size: without it, the filters of
# channels that hardly matter run away.
PULL = 1e-2
# The filters of all channels are found together: above this many weights that takes minutes.
LARGEST = 2400


class TapSums:
    """Sums of products of what the taps of a convolution see, and what shall come out.

    Args:
        centred: whether a constant is fitted too, so that means do not count.
    """

    def __init__(self, *, centred: bool) -> None:
        self._is_centred = centred
        self._rows = 0

    def add(self, seen: FilterArray, targets: npt.ArrayLike) -> None:
        """Add samples: (rows, taps, channels), and (rows, outputs)."""
        rows, taps, channels = seen.shape
        x = seen.transpose(0, 2, 1).reshape(rows, channels * taps)
        y = np.asarray(targets, np.float64)
        if not self._rows:
            self._shape = (channels, taps)
            self._gram, self._cross = (
                np.zeros((x.shape[1],) * 2),
                np.zeros((x.shape[1], y.shape[1])),
            )
            self._sum_x, self._sum_y = np.zeros(x.shape[1]), np.zeros(y.shape[1])
        with np.errstate(invalid="ignore", over="ignore"):  # told when the weights are fitted
            self._gram += x.T @ x
            self._cross += x.T @ y
            self._sum_x += x.sum(axis=0)
            self._sum_y += y.sum(axis=0)
        self._rows += rows

    def products(self) -> tuple[FilterArray, FilterArray]:
        """Return the products of inputs, (channels, taps) twice, and those with the targets."""
        gram, cross = self._gram, self._cross
        if self._is_centred:
            gram = gram - np.outer(self._sum_x, self._sum_x) / self._rows
            cross = cross - np.outer(self._sum_x, self._sum_y) / self._rows
        return gram.reshape(*self._shape, *self._shape), cross.reshape(*self._shape, -1)


def improve_filters(
    sums: TapSums, depthwise: FilterArray, pointwise: FilterArray, ridge: float
) -> tuple[FilterArray, FilterArray]:
    """Return filters and weights, in the shapes given, whose product fits the targets better.

    Args:
        sums: of the samples.
        depthwise: (height, width, channels, rank).
        pointwise: (channels · rank, outputs).
        ridge: how strongly weights are pulled towards what they were.
    """
    gram, cross = sums.products()
    if not (np.isfinite(gram).all() and np.isfinite(cross).all()):
        return depthwise, pointwise  # told when the weights are fitted
    height, width, channels, rank = depthwise.shape
    filters = depthwise.reshape(height * width, channels, rank).swapaxes(0, 1)
    weights = _solve_weights(gram, cross, filters, pointwise.reshape(channels, rank, -1), ridge)
    for _ in range(TURNS):
        filters, weights = _normalise_filters(
            _solve_filters(gram, cross, filters, weights), weights
        )
        weights = _solve_weights(gram, cross, filters, weights, ridge)
    depthwise = filters.swapaxes(0, 1).reshape(height, width, channels, rank)
    return depthwise, weights.reshape(channels * rank, -1)


def _solve_weights(
    gram: FilterArray, cross: FilterArray, filters: FilterArray, start: FilterArray, ridge: float
) -> FilterArray:
    size = start.shape[0] * start.shape[1]
    half = np.einsum("akbl,bls->akbs", gram, filters, optimize=True)
    left = np.einsum("akr,akbs->arbs", filters, half, optimize=True).reshape(size, size)
    right = np.einsum("akr,ako->aro", filters, cross, optimize=True).reshape(size, -1)
    return _solve_pulled(left, right, start.reshape(size, -1), ridge).reshape(start.shape)


def _solve_filters(
    gram: FilterArray, cross: FilterArray, start: FilterArray, weights: FilterArray
) -> FilterArray:
    alike = np.einsum("aro,bso->arbs", weights, weights, optimize=True)
    left = np.einsum("akbl,arbs->akrbls", gram, alike).reshape(start.size, start.size)
    right = np.einsum("ako,aro->akr", cross, weights, optimize=True).reshape(start.size, 1)
    return _solve_pulled(left, right, start.reshape(-1, 1), PULL).reshape(start.shape)


def _normalise_filters(
    filters: FilterArray, weights: FilterArray
) -> tuple[FilterArray, FilterArray]:
    """Return filters of norm 1, the weights made as much larger as they are smaller."""
    norms = np.linalg.norm(filters, axis=1, keepdims=True)
    norms = np.where(norms > 0, norms, 1.0)
    return filters / norms, weights * norms.swapaxes(1, 2)


def _solve_pulled(
    left: FilterArray, right: FilterArray, start: FilterArray, ridge: float
) -> FilterArray:
    """Return the solution of normal equations, pulled towards `start`."""
    pull = ridge * float(np.trace(left)) / len(left)
    rest = right - left @ start
    try:
        return start + np.linalg.solve(left + pull * np.eye(len(left)), rest)
    except np.linalg.LinAlgError:  # no pull, and samples that do not show all directions
        return start + np.linalg.lstsq(left, rest, rcond=None)[0]


# Neighbouring places of an image say nearly the same: more of them cost time and change nothing.
PLACES = 16384
# So many bytes of windows are in memory at a time.
CHUNK_BYTES = 1 << 26

Array = npt.NDArray[np.float64]


class SeenWindows:
    """Inputs of one convolution in the old model and of its halves in the new one.

    Args:
        layer: the convolution.
        draw: picks the places of images to look at, where there are too many.
    """

    def __init__(self, layer: Any, draw: np.random.Generator) -> None:
        self._layer = layer
        self._draw = draw
        self._kernel = np.asarray(layer.kernel, np.float32)
        self._batches: list[tuple[Any, Any, Any]] = []

    def add(self, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        """Add what one call reads for all samples, batch by batch: new model, old model."""
        height, width = output_sizes(self._layer, ours[0].shape)
        ends = np.cumsum([len(batch) * height * width for batch in ours])
        places = self._picked(int(ends[-1]))
        parts = np.split(places, np.searchsorted(places, ends[:-1]))
        begins = [0, *ends[:-1]]
        for our, their, part, begin in zip(ours, theirs, parts, begins, strict=True):
            self._batches.append((our, their, part - begin))

    def chunks(self) -> Iterator[tuple[Array, Any]]:
        """Yield what the halves see, (rows, taps, channels), and what shall come out of them.

        That is what the convolution makes of what it sees itself, bias and activation left out.
        """
        flat = self._kernel.reshape(-1, self._kernel.shape[-1])
        step = max(64, CHUNK_BYTES // (8 * len(flat)))
        for ours, theirs, places in self._batches:
            for start in range(0, len(places), step):
                some = places[start : start + step]
                seen = kernel_windows(self._layer, theirs, some).astype(np.float32)
                targets = seen.reshape(len(some), -1) @ flat
                yield kernel_windows(self._layer, ours, some).astype(np.float64), targets

    def _picked(self, total: int) -> Any:
        if total <= PLACES:
            return np.arange(total)
        return np.sort(self._draw.choice(total, size=PLACES, replace=False))


def refit_halves(
    old: Graph,
    new: Graph,
    halves: Sequence[SplitConvolution],
    samples: Samples,
    *,
    ridge: float,
    seed: int,
) -> dict[str, float]:
    """Fit halves in place, in the order given; return what each misses, as a share.

    Args:
        old: the model with the convolutions.
        new: the model with the halves in their places.
        halves: what to fit; none may depend on one after it.
        samples: calibration data of both models.
        ridge: see `squares`.
        seed: picks the places of images to look at.
    """
    ours = LayerRun(new, samples, _layer_inputs(new, [one.depthwise for one in halves]))
    theirs = LayerRun(old, samples, _layer_inputs(old, [one.layer for one in halves]))
    draw = np.random.default_rng(seed)
    missed = {}
    for one in halves:
        sights = SeenWindows(one.layer, draw)
        pairs = zip(
            _layer_inputs(new, [one.depthwise]), _layer_inputs(old, [one.layer]), strict=True
        )
        for our, their in pairs:
            sights.add(list(ours.batches(our)), list(theirs.batches(their)))
        missed[one.name] = _fit_halves(one, sights, norm_after(new, one.pointwise), ridge)
    return missed


def _layer_inputs(graph: Graph, layers: Sequence[Any]) -> list[int]:
    return [call.inputs[0] for layer in layers for call in graph.calls_of(layer)]


def _fit_halves(halves: SplitConvolution, sights: SeenWindows, norm: Any, ridge: float) -> float:
    """Fit one pair of halves; return the share of what it should make that it misses.

    A share of the variance, as in statistics: half of it missed is an error of 0.7.
    """
    layer = halves.layer
    has_constant = layer.bias_constraint is None if layer.use_bias else norm is not None
    depthwise, pointwise = split_kernel(np.asarray(layer.kernel, np.float64), halves.rank)
    if _can_improve(depthwise, pointwise):
        sums, scale = TapSums(centred=has_constant), channel_importance(norm)
        for seen, targets in sights.chunks():
            sums.add(seen, targets * scale)
        depthwise, scaled = improve_filters(sums, depthwise, pointwise * scale, ridge)
        pointwise = scaled / scale
    squares = LeastSquares(bias=has_constant)
    for seen, targets in sights.chunks():
        squares.add(_depthwise_output(seen, depthwise), targets)
    fit = _solve_or_explain(halves.name, squares, pointwise, ridge)
    halves.set_kernels(depthwise, fit.weights)
    if fit.bias is not None:
        _add_constant(halves, norm, fit.bias)
    return fit.error**2


def _add_constant(halves: SplitConvolution, norm: Any, constant: Any) -> None:
    """Add a constant to what halves make: to their bias, or behind them to the normalization."""
    if halves.layer.use_bias:
        assign_values(halves.pointwise.bias, np.asarray(halves.layer.bias, np.float64) + constant)
    else:
        assign_values(norm.moving_mean, np.asarray(norm.moving_mean, np.float64) - constant)


def _can_improve(depthwise: Any, pointwise: Any) -> bool:
    taps, rank = depthwise.shape[0] * depthwise.shape[1], depthwise.shape[3]
    is_exact = rank >= min(taps, pointwise.shape[1])
    return not is_exact and depthwise.size <= LARGEST


def _depthwise_output(seen: Any, depthwise: Any) -> Any:
    """Return what the depthwise half makes: (rows, channels · rank)."""
    filters = depthwise.reshape(-1, *depthwise.shape[2:])
    each = [np.einsum("nkc,kc->nc", seen, filters[..., i]) for i in range(filters.shape[-1])]
    return np.stack(each, axis=-1).reshape(len(seen), -1)


def _solve_or_explain(
    name: str, squares: LeastSquares, prior: Any, ridge: float
) -> LeastSquaresFit:
    try:
        return squares.solution(prior, ridge)
    except ModelError as error:
        raise ModelError(f"The convolution '{name}' cannot be rewritten. {error}") from error


def output_sizes(layer: Any, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width of what a convolution makes of values of this shape."""
    _, height, width, _ = layer.compute_output_shape(shape)
    return height, width


def kernel_windows(layer: Any, values: Any, places: Any) -> Any:
    """Return (places, taps, channels): the inputs that are multiplied with the kernel's taps.

    Args:
        layer: a Conv2D with its channels last.
        values: what goes into it, (samples, height, width, channels).
        places: numbers of values that come out of it, counted over samples, rows and columns.
    """
    made = output_sizes(layer, values.shape)
    sample, rest = np.divmod(places, made[0] * made[1])
    starts = [
        place * stride - before
        for place, stride, before in zip(
            np.divmod(rest, made[1]),
            layer.strides,
            _zeros_before(layer, values.shape, made),
            strict=True,
        )
    ]
    taps = np.zeros((len(places), math.prod(layer.kernel_size), values.shape[-1]), values.dtype)
    for tap in range(taps.shape[1]):
        down, right = divmod(tap, layer.kernel_size[1])
        row = starts[0] + down * layer.dilation_rate[0]
        column = starts[1] + right * layer.dilation_rate[1]
        # Zeros are around the image. It is not copied for that: it may fill half of the memory.
        inside = (row >= 0) & (row < values.shape[1]) & (column >= 0) & (column < values.shape[2])
        taps[inside, tap] = values[sample[inside], row[inside], column[inside]]
    return taps


def _zeros_before(layer: Any, shape: tuple[int, ...], made: tuple[int, int]) -> tuple[int, int]:
    """Return how many rows and columns of zeros TensorFlow puts before the image."""
    if layer.padding == "valid":
        return (0, 0)
    rows, columns = (
        (made[axis] - 1) * layer.strides[axis]
        + (layer.kernel_size[axis] - 1) * layer.dilation_rate[axis]
        + 1
        - shape[1 + axis]
        for axis in (0, 1)
    )
    return max(rows, 0) // 2, max(columns, 0) // 2


def split_kernel(kernel: npt.ArrayLike, rank: int) -> tuple[Array, Array]:
    """Return depthwise filters and pointwise weights whose product is closest to a kernel.

    Channel by channel, a singular value decomposition: the best `rank` filters for the weights
    alone. All of them (rank = height · width) give the kernel itself.

    Args:
        kernel: (height, width, channels, outputs).
        rank: how many filters per channel.

    Returns:
        The depthwise kernel (height, width, channels, rank), each filter of norm 1, and the
        pointwise one (channels · rank, outputs).
    """
    whole = np.asarray(kernel, np.float64)
    height, width, channels, outputs = whole.shape
    each = whole.reshape(height * width, channels, outputs).swapaxes(0, 1)
    left, values, right = np.linalg.svd(each, full_matrices=False)
    filters = left[:, :, :rank].swapaxes(0, 1).reshape(height, width, channels, rank)
    weights = values[:, :rank, None] * right[:, :rank]
    return filters, weights.reshape(channels * rank, outputs)


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


def channel_importance(norm: Any) -> npt.NDArray[np.float64]:
    """Return how much an error of each channel counts behind a normalization: alike without one."""
    if norm is None:
        return np.ones(1)
    factor = 1.0 / np.sqrt(np.asarray(norm.moving_variance, np.float64) + norm.epsilon)
    if norm.scale:
        factor = factor * np.abs(np.asarray(norm.gamma, np.float64))
    least = LEAST_IMPORTANCE * float(factor.mean())
    return np.maximum(factor, least) if least > 0 else np.ones_like(factor)
