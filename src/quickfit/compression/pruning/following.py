"""Channels followed through a model, layer by layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quickfit.compression.graph import Call, Graph
from quickfit.compression.pruning import kinds
from quickfit.compression.pruning.tracing import UNKNOWN, Channels, Fixed, Trace

Found = Channels | Fixed


def traced(graph: Graph) -> Trace:
    """Return the channels of a model: what may go, what hangs together, what must stay and why."""
    trace = Trace(graph)
    for name, tensor in zip(graph.input_names, graph.inputs, strict=True):
        trace.tensors[tensor] = Fixed(f"its channels are tied to the model's input '{name}'")
    for call in graph.calls:
        found = _followed(trace, call)
        trace.tensors.update(dict.fromkeys(call.outputs, found))
    for tensor in graph.outputs:
        trace.freeze(tensor, "its channels are an output of the model")
    return trace


def _followed(trace: Trace, call: Call) -> Found:
    """Return the channels of what a call makes."""
    layer, kind = call.layer, kinds.kind_of(call.layer)
    data = _data_of(call)
    why = kinds.obstacle(layer) if kind else ""
    if why or not kind or not data or len(call.outputs) != 1:
        return trace.refuse(call, why or UNKNOWN)
    if not kinds.is_layer(layer):
        return _operation(trace, call, kind, data)
    if kind in kinds.MERGING:
        return _merged(trace, call, data)
    if kind == "Concatenate":
        return _joined(trace, call, data)
    return _layer(trace, call, kind, data[0]) if len(data) == 1 else trace.refuse(call, UNKNOWN)


def _data_of(call: Call) -> list[int]:
    """Return the tensors that a call computes with, masks left out."""
    arguments = call.tensors_by_argument()
    return [n for name, numbers in arguments.items() if "mask" not in name for n in numbers]


def _layer(trace: Trace, call: Call, kind: str, tensor: int) -> Found:
    """Return what comes out of a layer with one input."""
    layer = call.layer
    if kind in kinds.SUMMING:
        return _summed(trace, call, tensor)
    if kind == "Embedding":
        return trace.give(call, -1, layer.output_dim)
    if kinds.mixes_channels(getattr(layer, "activation", None)):
        return trace.refuse(call, "looks at all channels at once")
    if kind in kinds.POINTWISE:
        return trace.tensors[tensor]
    if kind in {"Flatten", "Reshape", "Permute"}:
        return _reshaped(trace, call, kind, tensor)
    return _channelwise(trace, call, kind, tensor)


def _summed(trace: Trace, call: Call, tensor: int) -> Channels:
    """Follow a convolution or Dense layer: new channels come out."""
    rank = len(trace.graph.shape_of(tensor))
    axis = -1 if kinds.kind_of(call.layer) == "Dense" else kinds.channel_axis(call.layer, rank)
    trace.take(call, trace.channels_at(tensor, axis, call))
    mixes = kinds.mixes_channels(call.layer.activation)
    reason = "its activation looks at all channels at once" if mixes else ""
    return trace.give(call, axis, trace.graph.shape_of(call.outputs[0])[axis] or 0, reason)


def _channelwise(trace: Trace, call: Call, kind: str, tensor: int) -> Found:
    """Follow a layer that treats every channel by itself."""
    rank, layer = len(trace.graph.shape_of(tensor)), call.layer
    if kind == "PReLU":
        found = trace.read.get(id(layer), trace.tensors[tensor])
        axis = found.axis if isinstance(found, Channels) else -1
        return trace.take(call, trace.channels_at(tensor, axis, call))
    if kind == "BatchNormalization":
        return trace.take(call, trace.channels_at(tensor, layer.axis % rank - rank, call))
    if kind in kinds.DEPTHWISE:
        axis = kinds.channel_axis(layer, rank)
        read = trace.take(call, trace.channels_at(tensor, axis, call))
        return Channels(axis, np.repeat(read.atoms, layer.depth_multiplier))
    if kind in kinds.SPATIAL:
        return _spatial(trace, call, tensor)
    return trace.refuse(call, UNKNOWN)


def _spatial(trace: Trace, call: Call, tensor: int) -> Found:
    """Follow pooling, padding and the like, which may take axes away."""
    found, before = trace.tensors[tensor], len(trace.graph.shape_of(tensor))
    axis, after = kinds.channel_axis(call.layer, before), len(trace.graph.shape_of(call.outputs[0]))
    if isinstance(found, Fixed):
        return found
    if found.axis != axis:
        return trace.refuse(call, "reads its channels along another axis")
    return Channels(axis if before == after else -1, found.atoms)


def _reshaped(trace: Trace, call: Call, kind: str, tensor: int) -> Found:
    """Follow atoms to their new places; they must lie along one axis there, too."""
    found = trace.tensors[tensor]
    if isinstance(found, Fixed):
        return found
    before, after = trace.graph.shape_of(tensor)[1:], trace.graph.shape_of(call.outputs[0])[1:]
    sizes = [size for size in (*before, *after) if size is not None]
    if len(sizes) < len(before) + len(after):
        return trace.refuse(call, "moves channels in a way that depends on the size of the input")
    moved = _moved(call.layer, kind, _spread(found, before)).reshape(sizes[len(before) :])
    along = [axis for axis in range(-moved.ndim, 0) if _varies_only_along(moved, axis)]
    if len(along) != 1 or (kind == "Reshape" and len(trace.graph.calls_of(call.layer)) > 1):
        return trace.refuse(call, "moves channels to more than one place")
    return Channels(along[0], _lines(moved, along[0])[0])


def _spread(found: Channels, shape: Sequence[int | None]) -> Any:
    """Return a whole sample of the tensor, with the atom in every place."""
    places = [1] * len(shape)
    places[found.axis] = len(found.atoms)
    return np.broadcast_to(found.atoms.reshape(places), [size or 1 for size in shape])


def _moved(layer: Any, kind: str, atoms: Any) -> Any:
    if kind == "Permute":
        return np.transpose(atoms, [dim - 1 for dim in layer.dims])
    is_first = kind == "Flatten" and layer.data_format == "channels_first"
    return np.moveaxis(atoms, 0, -1) if is_first else atoms


def _varies_only_along(atoms: Any, axis: int) -> bool:
    """Whether atoms differ along an axis and are the same along all others."""
    lines = _lines(atoms, axis)
    return lines.shape[1] > 1 and bool((lines == lines[0]).all())


def _lines(atoms: Any, axis: int) -> Any:
    return np.moveaxis(atoms, axis, -1).reshape(-1, atoms.shape[axis])


def _operation(trace: Trace, call: Call, kind: str, data: list[int]) -> Found:
    """Follow an operation of `keras.ops`."""
    if kind == "Concatenate":
        return _joined(trace, call, data)
    if not _only_numbers_beside(call):
        return trace.refuse(call, "has an array among its arguments")
    if kind in kinds.MERGING_OPERATIONS:
        return _merged(trace, call, data)
    if kind in kinds.ELEMENTWISE_OPERATIONS and len(data) == 1:
        return trace.tensors[data[0]]
    return trace.refuse(call, UNKNOWN)


def _only_numbers_beside(call: Call) -> bool:
    import keras

    leaves = keras.tree.flatten((call.args, dict(call.kwargs)))
    return all(getattr(leaf, "ndim", 0) == 0 for leaf in leaves)


def _merged(trace: Trace, call: Call, data: list[int]) -> Found:
    """Follow an addition and the like: channels in the same place hang together."""
    found = [trace.tensors[tensor] for tensor in data]
    free = [one for one in found if isinstance(one, Channels)]
    if not free:
        return found[0]
    if len({one.axis for one in free}) > 1:
        return trace.refuse(call, "puts different axes together")
    return _tied(trace, call, data, max(free, key=lambda one: len(one.atoms)))


def _tied(trace: Trace, call: Call, data: list[int], widest: Channels) -> Found:
    """Tie all tensors to the widest one; a single channel is spread over all of it."""
    shape = trace.graph.shape_of(call.outputs[0])
    if len(shape) < -widest.axis or shape[widest.axis] != len(widest.atoms):
        return trace.refuse(call, "spreads one channel over many")
    for tensor in data:
        one, sizes = trace.tensors[tensor], trace.graph.shape_of(tensor)
        size = sizes[widest.axis] if len(sizes) > -widest.axis else 1
        if size == 1 and len(widest.atoms) > 1:
            trace.freeze(tensor, f"'{call.name}' spreads it over all channels")
        elif isinstance(one, Channels):
            trace.atoms.tie(widest.atoms, one.atoms)
        else:
            trace.atoms.freeze(widest.atoms, one.reason)
    return widest


def _joined(trace: Trace, call: Call, data: list[int]) -> Found:
    """Follow a concatenation: along the channels they line up, along another axis they are tied."""
    found = [trace.tensors[tensor] for tensor in data]
    axes = {one.axis for one in found if isinstance(one, Channels)}
    rank = len(trace.graph.shape_of(call.outputs[0]))
    if not axes:
        return found[0]
    if len(axes) > 1:
        return trace.refuse(call, "puts different axes together")
    axis = axes.pop()
    if call.layer.axis is None or call.layer.axis % rank - rank != axis:
        return _merged(trace, call, data)
    parts = [trace.channels_at(tensor, axis, call).atoms for tensor in data]
    return Channels(axis, np.concatenate(parts))
