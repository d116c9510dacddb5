"""Halves of convolutions fitted, one after the other, to do what the convolutions did.

Each is fitted on what really reaches it in the new model, so it makes good what those before it
could not do. No labels are needed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quickfit.compression.calibration import Running, Samples
from quickfit.compression.graph import Graph
from quickfit.compression.separable.filters import LARGEST, Sums, improved
from quickfit.compression.separable.following import importance, norm_after
from quickfit.compression.separable.halves import Halves, assign
from quickfit.compression.separable.sights import Sights
from quickfit.compression.separable.splitting import split
from quickfit.compression.squares import Fit, Squares
from quickfit.errors import ModelError


def refit(
    old: Graph, new: Graph, halves: Sequence[Halves], samples: Samples, *, ridge: float, seed: int
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
    ours = Running(new, samples, _inputs(new, [one.depthwise for one in halves]))
    theirs = Running(old, samples, _inputs(old, [one.layer for one in halves]))
    draw = np.random.default_rng(seed)
    missed = {}
    for one in halves:
        sights = Sights(one.layer, draw)
        pairs = zip(_inputs(new, [one.depthwise]), _inputs(old, [one.layer]), strict=True)
        for our, their in pairs:
            sights.add(list(ours.batches(our)), list(theirs.batches(their)))
        missed[one.name] = _fitted(one, sights, norm_after(new, one.pointwise), ridge)
    return missed


def _inputs(graph: Graph, layers: Sequence[Any]) -> list[int]:
    return [call.inputs[0] for layer in layers for call in graph.calls_of(layer)]


def _fitted(halves: Halves, sights: Sights, norm: Any, ridge: float) -> float:
    """Fit one pair of halves; return the share of what it should make that it misses.

    A share of the variance, as in statistics: half of it missed is an error of 0.7.
    """
    layer = halves.layer
    has_constant = layer.bias_constraint is None if layer.use_bias else norm is not None
    depthwise, pointwise = split(np.asarray(layer.kernel, np.float64), halves.rank)
    if _can_improve(depthwise, pointwise):
        sums, scale = Sums(centred=has_constant), importance(norm)
        for seen, targets in sights.chunks():
            sums.add(seen, targets * scale)
        depthwise, scaled = improved(sums, depthwise, pointwise * scale, ridge)
        pointwise = scaled / scale
    squares = Squares(bias=has_constant)
    for seen, targets in sights.chunks():
        squares.add(_filtered(seen, depthwise), targets)
    fit = _solution(halves.name, squares, pointwise, ridge)
    halves.set_kernels(depthwise, fit.weights)
    if fit.bias is not None:
        _add_constant(halves, norm, fit.bias)
    return fit.error**2


def _add_constant(halves: Halves, norm: Any, constant: Any) -> None:
    """Add a constant to what halves make: to their bias, or behind them to the normalization."""
    if halves.layer.use_bias:
        assign(halves.pointwise.bias, np.asarray(halves.layer.bias, np.float64) + constant)
    else:
        assign(norm.moving_mean, np.asarray(norm.moving_mean, np.float64) - constant)


def _can_improve(depthwise: Any, pointwise: Any) -> bool:
    taps, rank = depthwise.shape[0] * depthwise.shape[1], depthwise.shape[3]
    is_exact = rank >= min(taps, pointwise.shape[1])
    return not is_exact and depthwise.size <= LARGEST


def _filtered(seen: Any, depthwise: Any) -> Any:
    """Return what the depthwise half makes: (rows, channels · rank)."""
    filters = depthwise.reshape(-1, *depthwise.shape[2:])
    each = [np.einsum("nkc,kc->nc", seen, filters[..., i]) for i in range(filters.shape[-1])]
    return np.stack(each, axis=-1).reshape(len(seen), -1)


def _solution(name: str, squares: Squares, prior: Any, ridge: float) -> Fit:
    try:
        return squares.solution(prior, ridge)
    except ModelError as error:
        raise ModelError(f"The convolution '{name}' cannot be rewritten. {error}") from error
