"""Statistics of batch normalization measured anew, after the layers in front of it have changed.

One pass over the calibration data, layer by layer: each normalization gets the exact mean and
variance of what goes into it, with all those before it already recalibrated. (Averaging the
statistics of batches in training mode, the usual way, misses the spread between batches and
normalizes with statistics of one batch on the way.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.compression.calibration import Running, Samples, affordable, samples_of
from quickfit.compression.graph import Call, Graph, copied, graph_of
from quickfit.compression.norms.kinds import INSIDE, holds_norm, is_norm, is_renorm
from quickfit.compression.norms.moments import Array, Moments, moments_of

# Below this share of its stored variance a channel of the original is constant on the calibration
# data: its variance there says nothing.
CONSTANT_SHARE = 1e-6


@dataclass(frozen=True)
class Recalibration:
    """What was done to the normalizations of a model.

    Args:
        changed: the names of the layers with new statistics.
        left: the names of the others, and of layers with some inside them, and why.
    """

    changed: tuple[str, ...]
    left: Mapping[str, str]


@dataclass(frozen=True)
class Reference:
    """What a normalization of the original had stored, and what really went into it."""

    stored: Moments
    seen: Moments


def recalibrated(model: Any, data: Any, *, like: Any = None) -> Any:
    """Return a copy of a model with the statistics of its batch normalizations measured anew.

    Args:
        model: a functional or Sequential model; it is not changed.
        data: calibration data of any kind, see `samples_of`.
        like: the model that this one was made from. With it the new statistics make each layer's
            output as large and as centred as the original's on the same data: what the original
            had learned from more data than these is kept, also where its layers were frozen.
            Without it the statistics are simply those of the data, and layers that are not
            trainable keep theirs, as in training.
    """
    copy = copied(model)
    recalibrate(copy, data, like=like)
    return copy


def recalibrate(
    model: Any,
    data: Any,
    *,
    like: Any = None,
    channels: Mapping[str, npt.ArrayLike] | None = None,
) -> Recalibration:
    """Do the same to a model of our own making, in place.

    Args:
        model: the model to change.
        data: calibration data.
        like: see `recalibrated`.
        channels: for layers with fewer channels than in the original, by name: the places of
            their channels in the original. Where they are missing, the statistics are those of
            the data.
    """
    graph = graph_of(model)
    samples = affordable(graph, samples_of(graph, data))
    references = _references(like, samples, channels or {}) if like is not None else {}
    left = {name: why for name, why in _left_alone(graph, references).items() if why}
    calls = [c for c in graph.calls if is_norm(c.layer) and c.name not in left]
    for call, now in _seen(graph, samples, calls):
        _store(call.layer, now, references.get(call.name))
    return Recalibration(tuple(dict.fromkeys(call.name for call in calls)), left)


def _seen(graph: Graph, samples: Samples, calls: list[Call]) -> Iterator[tuple[Call, Moments]]:
    """Yield what goes into normalizations, in order; layers may be changed on the way."""
    running = Running(graph, samples, [call.inputs[0] for call in calls])
    seen: dict[str, Moments] = {}
    for call in calls:
        now = moments_of(running.batches(call.inputs[0]), call.layer.axis, call.name)
        # A shared layer has one set of statistics for all its calls, as in training.
        seen[call.name] = seen[call.name].joined(now) if call.name in seen else now
        yield call, seen[call.name]


def _left_alone(graph: Graph, references: Mapping[str, Reference]) -> dict[str, str]:
    inside = {call.name: INSIDE for call in graph.calls if holds_norm(call.layer)}
    return inside | {
        call.name: _reason(call, call.name in references)
        for call in graph.calls
        if is_norm(call.layer)
    }


def _reason(call: Call, has_reference: bool) -> str:
    if is_renorm(call.layer):
        return "batch renormalization keeps more statistics than these"
    if len(call.inputs) > 1:
        return "a mask says which values count"
    if not call.trainable and not has_reference:
        return "it is not trainable"
    return ""


def _references(
    model: Any, samples: Samples, channels: Mapping[str, npt.ArrayLike]
) -> dict[str, Reference]:
    graph = graph_of(model)
    calls = [c for c in graph.calls if is_norm(c.layer) and len(c.inputs) == 1]
    found = {c.name: Reference(_stored(c.layer), now) for c, now in _seen(graph, samples, calls)}
    for name, places in channels.items():
        if name in found:
            one = found[name]
            found[name] = Reference(one.stored.of_channels(places), one.seen.of_channels(places))
    return found


def _stored(layer: Any) -> Moments:
    mean, variance = (np.asarray(v, np.float64) for v in (layer.moving_mean, layer.moving_variance))
    return Moments(mean, variance, 1)


def _store(layer: Any, now: Moments, reference: Reference | None) -> None:
    mean, variance = now.mean, now.variance
    if reference is not None and reference.stored.mean.shape == mean.shape:
        mean, variance = _matched(now, reference, float(layer.epsilon))
    layer.moving_mean.assign(mean.astype(layer.moving_mean.dtype))
    layer.moving_variance.assign(variance.astype(layer.moving_variance.dtype))


def _matched(now: Moments, reference: Reference, epsilon: float) -> tuple[Array, Array]:
    """Return statistics that normalize `now` to what the original made of its own input."""
    stored, seen = reference.stored, reference.seen
    divisor = stored.variance + epsilon
    is_constant = (seen.variance <= CONSTANT_SHARE * divisor) | (now.variance <= 0)
    growth = np.where(is_constant, 1.0, now.variance / np.where(is_constant, 1.0, seen.variance))
    scale = np.sqrt(growth)
    mean = now.mean - (seen.mean - stored.mean) * scale
    return mean, np.maximum(divisor * growth - epsilon, 0.0)
