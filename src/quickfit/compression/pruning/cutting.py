"""The smaller model: every layer with the weights of the channels that stay."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from quickfit.compression.graph import Call, fresh, rebuilt
from quickfit.compression.pruning import kinds
from quickfit.compression.pruning.atoms import Places
from quickfit.compression.pruning.choosing import Plan
from quickfit.compression.pruning.tracing import Channels
from quickfit.compression.walking.copies import copy_flags

# Weights by attribute; for each of their axes, counted from the end, the places that stay.
Cuts = dict[str, dict[int, Places]]


def cut(plan: Plan) -> Any:
    """Return a new model without the channels of the plan; all other weights are the same."""
    copies: dict[int, Any] = {}

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if not is_changed(plan, call):
            return None
        copy = copies.get(id(call.layer))
        if copy is not None:
            return call.replay(copy, tensors)
        copy = copies[id(call.layer)] = fresh(call.layer, name=call.name, **_settings(plan, call))
        result = call.replay(copy, tensors)
        for name, places in cuts_of(plan, call.layer).items():
            getattr(copy, name).assign(taken(getattr(call.layer, name), places))
        copy_flags(call.layer, copy, trainable=call.trainable)
        return result

    return rebuilt(plan.trace.graph, make)


def is_changed(plan: Plan, call: Call) -> bool:
    """Tell whether a layer itself becomes smaller; others only get smaller inputs."""
    key = id(call.layer)
    if kinds.kind_of(call.layer) == "Reshape":
        return _share(plan, call) < 1
    both = (plan.trace.read.get(key), plan.trace.made.get(key))
    return any(plan.share(channels) < 1 for channels in both)


def cuts_of(plan: Plan, layer: Any) -> Cuts:
    """Return which places of which weights of a layer stay."""
    trace, kind = plan.trace, kinds.kind_of(layer)
    read, made = trace.read.get(id(layer)), trace.made.get(id(layer))
    if kind == "Embedding" and made is not None:
        return {"embeddings": {-1: plan.kept(made)}}
    if read is None:
        return {}
    inputs = plan.kept(read)
    if made is not None:
        cuts = _summing_cuts(layer, kind, inputs, plan.kept(made))
    elif kind in kinds.DEPTHWISE:
        cuts = {"kernel": {-2: inputs}, "bias": {-1: blocks(inputs, layer.depth_multiplier)}}
    elif kind == "PReLU":
        is_shared = layer.alpha.shape[read.axis] == 1
        cuts = {"alpha": {} if is_shared else {read.axis: inputs}}
    else:
        names = ("gamma", "beta", "moving_mean", "moving_variance")
        cuts = {name: {-1: inputs} for name in names}
    return {name: axes for name, axes in cuts.items() if getattr(layer, name, None) is not None}


def blocks(places: Places, size: int) -> Places:
    """Return the places of blocks of channels that belong to one channel each."""
    found: Places = (places[:, None] * size + np.arange(size)).ravel()
    return found


def taken(weight: Any, places: Mapping[int, Places]) -> Any:
    """Return a weight with some places of some axes."""
    array = np.asarray(weight)
    for axis, some in places.items():
        array = np.take(array, some, axis=axis)
    return array


def _summing_cuts(layer: Any, kind: str, inputs: Places, outputs: Places) -> Cuts:
    cuts: Cuts = {"kernel": {-2: inputs, -1: outputs}, "bias": {-1: outputs}}
    if kind in kinds.TRANSPOSED:
        cuts["kernel"] = {-1: inputs, -2: outputs}
    if kind in kinds.SEPARABLE:
        del cuts["kernel"]
        cuts["depthwise_kernel"] = {-2: inputs}
        cuts["pointwise_kernel"] = {-2: blocks(inputs, layer.depth_multiplier), -1: outputs}
    return cuts


def _settings(plan: Plan, call: Call) -> dict[str, Any]:
    """Return what differs in the configuration of the smaller layer."""
    layer, kind = call.layer, kinds.kind_of(call.layer)
    made = plan.trace.made.get(id(layer))
    if kind == "Reshape":
        return {"target_shape": _target(plan, call)}
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


def _target(plan: Plan, call: Call) -> tuple[int, ...]:
    found = plan.trace.tensors[call.outputs[0]]
    target = [int(size) for size in call.layer.target_shape]
    if isinstance(found, Channels) and target[found.axis] != -1:
        target[found.axis] = len(plan.kept(found))
    return tuple(target)


def _share(plan: Plan, call: Call) -> float:
    return plan.share(plan.trace.tensors[call.outputs[0]])
