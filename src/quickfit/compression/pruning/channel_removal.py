"""Which channels go, the least important ones, and the smaller model without them."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.copying import copy_flags, fresh_layer, rebuild_graph
from quickfit.compression.graph import Call
from quickfit.compression.keras_internals import keras_class_name
from quickfit.compression.pruning.channels import (
    DEPTHWISE,
    SEPARABLE,
    TRANSPOSED,
    ChannelTrace,
    FixedTensor,
    Places,
    TensorChannels,
)


@dataclass(frozen=True)
class PruningPlan:
    """What is to be removed from a model.

    Args:
        trace: the channels of the model.
        removed: the roots of all channels that go.
    """

    trace: ChannelTrace
    removed: frozenset[int]

    def kept(self, channels: TensorChannels) -> Places:
        """Return the places of the channels that stay."""
        roots = self.trace.atoms.roots(channels.atoms)
        return np.array([i for i, root in enumerate(roots) if root not in self.removed], np.int64)

    def share(self, channels: TensorChannels | FixedTensor | None) -> float:
        """Return the share of channels that stay."""
        if not isinstance(channels, TensorChannels) or not len(channels.atoms):
            return 1.0
        return len(self.kept(channels)) / len(channels.atoms)


@dataclass(frozen=True)
class ChannelGroup:
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


def channel_groups(trace: ChannelTrace) -> list[ChannelGroup]:
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
    scores = channel_scores(trace)
    return [
        ChannelGroup(tuple(sorted(roots, key=lambda r: (scores[r], r))))
        for roots in groups.values()
    ]


def plan_removal(
    trace: ChannelTrace, groups: list[ChannelGroup], ratio: float, multiple: int
) -> PruningPlan:
    """Return the plan that removes this share of every group."""
    if ratio == 0:
        return PruningPlan(trace, frozenset())
    removed: set[int] = set()
    for group in groups:
        removed.update(group.roots[: len(group.roots) - group.kept_count(ratio, multiple)])
    return PruningPlan(trace, frozenset(removed))


def channel_scores(trace: ChannelTrace) -> dict[int, float]:
    """Return how important channels are, by root.

    The size of the weights that make a channel, in units of the layer's mean, times the scale that
    batch normalization gives to it; averaged over all layers that make or normalize it.
    """
    sizes: dict[int, list[float]] = {}
    scales: dict[int, list[float]] = {}
    for call in trace.calls_with(trace.made):
        _collect_scores(sizes, trace, trace.made[id(call.layer)], _filter_sizes(call.layer))
    for layer in _norm_layers(trace):
        _collect_scores(
            scales, trace, trace.read[id(layer)], np.abs(np.asarray(layer.gamma, np.float64))
        )
    return {r: float(np.mean(v) * np.mean(scales.get(r, [1.0]))) for r, v in sizes.items()}


def _collect_scores(
    into: dict[int, list[float]], trace: ChannelTrace, channels: TensorChannels, values: Any
) -> None:
    mean = float(values.mean()) or 1.0
    for root, value in zip(trace.atoms.roots(channels.atoms).tolist(), values, strict=True):
        into.setdefault(root, []).append(float(value) / mean)


def _filter_sizes(layer: Any) -> Any:
    """Return the L2 norm of the weights of each channel that a layer makes."""
    kind = keras_class_name(layer)
    name = {"Embedding": "embeddings"}.get(kind, "kernel")
    name = "pointwise_kernel" if kind in SEPARABLE else name
    kernel = np.asarray(getattr(layer, name), np.float64)
    if kind in TRANSPOSED:
        kernel = np.swapaxes(kernel, -1, -2)
    return np.sqrt((kernel.reshape(-1, kernel.shape[-1]) ** 2).sum(axis=0))


def _norm_layers(trace: ChannelTrace) -> Iterator[Any]:
    for call in trace.calls_with(trace.read):
        if keras_class_name(call.layer) == "BatchNormalization" and call.layer.scale:
            yield call.layer


# Weights by attribute; for each of their axes, counted from the end, the places that stay.
Cuts = dict[str, dict[int, Places]]


def cut_channels(plan: PruningPlan) -> Any:
    """Return a new model without the channels of the plan; all other weights are the same."""
    copies: dict[int, Any] = {}

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if not is_changed(plan, call):
            return None
        copy = copies.get(id(call.layer))
        if copy is not None:
            return call.replay(copy, tensors)
        copy = copies[id(call.layer)] = fresh_layer(
            call.layer, name=call.name, **_smaller_settings(plan, call)
        )
        result = call.replay(copy, tensors)
        for name, places in cuts_of(plan, call.layer).items():
            getattr(copy, name).assign(take_places(getattr(call.layer, name), places))
        copy_flags(call.layer, copy, trainable=call.trainable)
        return result

    return rebuild_graph(plan.trace.graph, make)


def is_changed(plan: PruningPlan, call: Call) -> bool:
    """Tell whether a layer itself becomes smaller; others only get smaller inputs."""
    key = id(call.layer)
    if keras_class_name(call.layer) == "Reshape":
        return plan.share(plan.trace.tensors[call.outputs[0]]) < 1
    both = (plan.trace.read.get(key), plan.trace.made.get(key))
    return any(plan.share(channels) < 1 for channels in both)


def cuts_of(plan: PruningPlan, layer: Any) -> Cuts:
    """Return which places of which weights of a layer stay."""
    trace, kind = plan.trace, keras_class_name(layer)
    read, made = trace.read.get(id(layer)), trace.made.get(id(layer))
    if kind == "Embedding" and made is not None:
        return {"embeddings": {-1: plan.kept(made)}}
    if read is None:
        return {}
    inputs = plan.kept(read)
    if made is not None:
        cuts = _summing_cuts(layer, kind, inputs, plan.kept(made))
    elif kind in DEPTHWISE:
        cuts = {"kernel": {-2: inputs}, "bias": {-1: block_places(inputs, layer.depth_multiplier)}}
    elif kind == "PReLU":
        is_shared = layer.alpha.shape[read.axis] == 1
        cuts = {"alpha": {} if is_shared else {read.axis: inputs}}
    else:
        names = ("gamma", "beta", "moving_mean", "moving_variance")
        cuts = {name: {-1: inputs} for name in names}
    return {name: axes for name, axes in cuts.items() if getattr(layer, name, None) is not None}


def block_places(places: Places, size: int) -> Places:
    """Return the places of blocks of channels that belong to one channel each."""
    found: Places = (places[:, None] * size + np.arange(size)).ravel()
    return found


def take_places(weight: Any, places: Mapping[int, Places]) -> Any:
    """Return a weight with some places of some axes."""
    array = np.asarray(weight)
    for axis, some in places.items():
        array = np.take(array, some, axis=axis)
    return array


def _summing_cuts(layer: Any, kind: str, inputs: Places, outputs: Places) -> Cuts:
    cuts: Cuts = {"kernel": {-2: inputs, -1: outputs}, "bias": {-1: outputs}}
    if kind in TRANSPOSED:
        cuts["kernel"] = {-1: inputs, -2: outputs}
    if kind in SEPARABLE:
        del cuts["kernel"]
        cuts["depthwise_kernel"] = {-2: inputs}
        cuts["pointwise_kernel"] = {-2: block_places(inputs, layer.depth_multiplier), -1: outputs}
    return cuts


def _smaller_settings(plan: PruningPlan, call: Call) -> dict[str, Any]:
    """Return what differs in the configuration of the smaller layer."""
    layer, kind = call.layer, keras_class_name(call.layer)
    made = plan.trace.made.get(id(layer))
    if kind == "Reshape":
        return {"target_shape": _reshape_target(plan, call)}
    settings = _bound_to_shapes(layer)
    if made is not None:
        name = {"Dense": "units", "Embedding": "output_dim"}.get(kind, "filters")
        settings[name] = len(plan.kept(made))
    return settings


def _bound_to_shapes(layer: Any) -> dict[str, Any]:
    """Return stand-ins for initializers and constraints that hold arrays of the old shape."""
    parts = vars(layer).items()
    initializers = [name for name, _ in parts if name.endswith("_initializer")]
    arrays = [n for n in initializers if np.ndim(getattr(getattr(layer, n), "value", 0))]
    shaped = [n for n, value in parts if n.endswith("_constraint") and hasattr(value, "shape")]
    return {**dict.fromkeys(arrays, "zeros"), **dict.fromkeys(shaped, None)}


def _reshape_target(plan: PruningPlan, call: Call) -> tuple[int, ...]:
    found = plan.trace.tensors[call.outputs[0]]
    target = [int(size) for size in call.layer.target_shape]
    if isinstance(found, TensorChannels) and target[found.axis] != -1:
        target[found.axis] = len(plan.kept(found))
    return tuple(target)
