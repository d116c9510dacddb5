"""Which channels go: the least important ones of every group that hangs together."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.pruning import kinds
from quickfit.compression.pruning.atoms import Places
from quickfit.compression.pruning.tracing import Channels, Fixed, Trace


@dataclass(frozen=True)
class Plan:
    """What is to be removed from a model.

    Args:
        trace: the channels of the model.
        removed: the roots of all channels that go.
    """

    trace: Trace
    removed: frozenset[int]

    def kept(self, channels: Channels) -> Places:
        """Return the places of the channels that stay."""
        roots = self.trace.atoms.roots(channels.atoms)
        return np.array([i for i, root in enumerate(roots) if root not in self.removed], np.int64)

    def share(self, channels: Channels | Fixed | None) -> float:
        """Return the share of channels that stay."""
        if not isinstance(channels, Channels) or not len(channels.atoms):
            return 1.0
        return len(self.kept(channels)) / len(channels.atoms)


@dataclass(frozen=True)
class Group:
    """Channels that the very same layers make, so that they may be exchanged for each other.

    Args:
        roots: those that may go, the least important first.
    """

    roots: tuple[int, ...]

    def kept_count(self, ratio: float, multiple: int) -> int:
        """Return how many channels stay: all, or the nearest multiple; never fewer than one of it.

        Half way between two it is the larger one, since accuracy is lost sooner than time is won.
        """
        count = len(self.roots)
        wanted = count * (1 - ratio)
        low = math.floor(wanted / multiple) * multiple
        high = min(low + multiple, count)
        is_nearer = high - wanted < wanted - low
        is_half_way = high - wanted == wanted - low and high % multiple == 0
        return high if is_nearer or is_half_way or not low else low


def groups_of(trace: Trace) -> list[Group]:
    """Return all channels that may go, in groups.

    An addition of a concatenation ties some channels of one layer to one branch and some to the
    other: so groups are made of channels with the same producers, not of layers.
    """
    makers: dict[int, Counter[int]] = {}
    for key, channels in trace.made.items():
        for root in trace.atoms.roots(channels.atoms).tolist():
            makers.setdefault(root, Counter())[key] += 1
    places = {key: number for number, key in enumerate(trace.made)}
    groups: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for root, counted in makers.items():
        if not trace.atoms.reason(root):
            signature = tuple(sorted((places[key], times) for key, times in counted.items()))
            groups.setdefault(signature, []).append(root)
    scores = scores_of(trace)
    return [Group(tuple(sorted(roots, key=lambda r: (scores[r], r)))) for roots in groups.values()]


def planned(trace: Trace, groups: list[Group], ratio: float, multiple: int) -> Plan:
    """Return the plan that removes this share of every group."""
    if ratio == 0:
        return Plan(trace, frozenset())
    removed: set[int] = set()
    for group in groups:
        removed.update(group.roots[: len(group.roots) - group.kept_count(ratio, multiple)])
    return Plan(trace, frozenset(removed))


def scores_of(trace: Trace) -> dict[int, float]:
    """Return how important channels are, by root.

    The size of the weights that make a channel, in units of the layer's mean, times the scale that
    batch normalization gives to it; averaged over all layers that make or normalize it.
    """
    sizes: dict[int, list[float]] = {}
    scales: dict[int, list[float]] = {}
    for call in trace.calls_with(trace.made):
        _collect(sizes, trace, trace.made[id(call.layer)], _filter_sizes(call.layer))
    for layer in _normalizations(trace):
        _collect(scales, trace, trace.read[id(layer)], np.abs(np.asarray(layer.gamma, np.float64)))
    return {r: float(np.mean(v) * np.mean(scales.get(r, [1.0]))) for r, v in sizes.items()}


def _collect(into: dict[int, list[float]], trace: Trace, channels: Channels, values: Any) -> None:
    mean = float(values.mean()) or 1.0
    for root, value in zip(trace.atoms.roots(channels.atoms).tolist(), values, strict=True):
        into.setdefault(root, []).append(float(value) / mean)


def _filter_sizes(layer: Any) -> Any:
    """Return the L2 norm of the weights of each channel that a layer makes."""
    kind = kinds.kind_of(layer)
    name = {"Embedding": "embeddings"}.get(kind, "kernel")
    name = "pointwise_kernel" if kind in kinds.SEPARABLE else name
    kernel = np.asarray(getattr(layer, name), np.float64)
    if kind in kinds.TRANSPOSED:
        kernel = np.swapaxes(kernel, -1, -2)
    return np.sqrt((kernel.reshape(-1, kernel.shape[-1]) ** 2).sum(axis=0))


def _normalizations(trace: Trace) -> Iterator[Any]:
    for call in trace.calls_with(trace.read):
        if kinds.kind_of(call.layer) == "BatchNormalization" and call.layer.scale:
            yield call.layer
