"""The channels of a model: where they come from, which hang together, which have to stay."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.compression.graph import Call, Graph
from quickfit.compression.keras_internals import keras_class_name

Places = npt.NDArray[np.int64]


class ChannelAtoms:
    """A union-find over channels; some of them must stay, each with the reason why."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._reasons: dict[int, str] = {}  # by root

    def new(self, count: int, reason: str = "") -> Places:
        """Return new atoms; with a reason they must stay."""
        start = len(self._parents)
        atoms = np.arange(start, start + count)
        self._parents.extend(range(start, start + count))
        if reason:
            self.freeze(atoms, reason)
        return atoms

    def root(self, atom: int) -> int:
        """Return the atom that stands for all those tied to this one."""
        parents = self._parents
        while parents[atom] != atom:
            parents[atom] = parents[parents[atom]]
            atom = parents[atom]
        return atom

    def roots(self, atoms: Places) -> Places:
        """Return the root of each atom."""
        return np.array([self.root(int(atom)) for atom in atoms], dtype=np.int64)

    def tie(self, some: Places, others: Places) -> None:
        """Make atoms stay or go together, one by one."""
        for one, other in zip(some, others, strict=True):
            root, joined = self.root(int(one)), self.root(int(other))
            if root == joined:
                continue
            self._parents[joined] = root
            reason = self._reasons.pop(joined, "")
            if reason:
                self._reasons.setdefault(root, reason)

    def freeze(self, atoms: Places, reason: str) -> bool:
        """Make atoms stay; tell whether one of them was free before."""
        free = [root for root in set(self.roots(atoms).tolist()) if root not in self._reasons]
        self._reasons.update(dict.fromkeys(free, reason))
        return bool(free)

    def reason(self, root: int) -> str:
        """Return why a root must stay; an empty text where it may go."""
        return self._reasons.get(root, "")


UNKNOWN = "needs all of its inputs, as far as quickfit knows"


@dataclass(frozen=True)
class TensorChannels:
    """The channels of a tensor, or of what a layer reads or makes.

    Args:
        axis: where they are, counted from the end.
        atoms: one per channel; the same one may come several times.
    """

    axis: int
    atoms: Places


@dataclass(frozen=True)
class FixedTensor:
    """A tensor of which nothing can be removed.

    Args:
        reason: why, as the end of a sentence about a layer that is tied to it.
    """

    reason: str


@dataclass
class ChannelTrace:
    """What is known of the channels of a model.

    Args:
        graph: the model.
        atoms: its channel atoms.
        tensors: the channels of each tensor, by number.
        read: what layers take in, by id of the layer; of shared layers, for all calls alike.
        made: what layers with channels of their own make, by id of the layer.
        unknown: the names of layers that are not understood, with the reason to keep them.
    """

    graph: Graph
    atoms: ChannelAtoms = field(default_factory=ChannelAtoms)
    tensors: dict[int, TensorChannels | FixedTensor] = field(default_factory=dict)
    read: dict[int, TensorChannels] = field(default_factory=dict)
    made: dict[int, TensorChannels] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    def channels_at(self, tensor: int, axis: int, reader: Call) -> TensorChannels:
        """Return the channels of a tensor along an axis that a layer reads them at."""
        found = self.tensors[tensor]
        if isinstance(found, TensorChannels) and found.axis == axis:
            return found
        reason = found.reason if isinstance(found, FixedTensor) else across_channels(reader)
        self.freeze(tensor, reason)
        return TensorChannels(axis, self.atoms.new(self.graph.shape_of(tensor)[axis] or 0, reason))

    def freeze(self, tensor: int, reason: str) -> bool:
        """Keep all channels of a tensor; tell whether some of them could have gone."""
        found = self.tensors.get(tensor)
        self.tensors[tensor] = FixedTensor(reason) if found is None else found
        return isinstance(found, TensorChannels) and self.atoms.freeze(found.atoms, reason)

    def take(self, call: Call, channels: TensorChannels) -> TensorChannels:
        """Remember what a layer with weights reads; all calls of a layer read the same channels."""
        first = self.read.setdefault(id(call.layer), channels)
        if first is not channels:
            self.atoms.tie(first.atoms, channels.atoms)
        return first

    def give(self, call: Call, axis: int, count: int, reason: str = "") -> TensorChannels:
        """Return the channels that a layer makes, the same ones for all its calls."""
        key = id(call.layer)
        if key not in self.made:
            self.made[key] = TensorChannels(axis, self.atoms.new(count, reason))
        return self.made[key]

    def refuse(self, call: Call, why: str) -> FixedTensor:
        """Keep everything around a layer that is not understood."""
        reason = f"its channels reach '{call.name}' ({type(call.layer).__name__}), which {why}"
        froze = [self.freeze(tensor, reason) for tensor in call.inputs]
        if any(froze) or getattr(call.layer, "weights", None):
            effect = "" if why == UNKNOWN else ", so all of its inputs are kept"
            self.unknown.setdefault(call.name, f"it {why}{effect}")
        return FixedTensor(reason)

    def calls_with(self, layers: Iterable[int]) -> list[Call]:
        """Return the first call of each of these layers, in the order of the model."""
        wanted = set(layers)
        found: dict[int, Call] = {}
        for call in self.graph.calls:
            if id(call.layer) in wanted:
                found.setdefault(id(call.layer), call)
        return list(found.values())


def across_channels(call: Call) -> str:
    """Return the reason to keep channels that a layer does not treat as channels."""
    kind = type(call.layer).__name__
    return f"'{call.name}' ({kind}) reads its channels along another axis"


ChannelsOrFixed = TensorChannels | FixedTensor


def trace_channels(graph: Graph) -> ChannelTrace:
    """Return the channels of a model: what may go, what hangs together, what must stay and why."""
    trace = ChannelTrace(graph)
    for name, tensor in zip(graph.input_names, graph.inputs, strict=True):
        trace.tensors[tensor] = FixedTensor(f"its channels are tied to the model's input '{name}'")
    for call in graph.calls:
        found = _follow_call(trace, call)
        trace.tensors.update(dict.fromkeys(call.outputs, found))
    for tensor in graph.outputs:
        trace.freeze(tensor, "its channels are an output of the model")
    return trace


def _follow_call(trace: ChannelTrace, call: Call) -> ChannelsOrFixed:
    """Return the channels of what a call makes."""
    layer, kind = call.layer, keras_class_name(call.layer)
    data = call.data_tensors()
    why = channel_obstacle(layer) if kind else ""
    if why or not kind or not data or len(call.outputs) != 1:
        return trace.refuse(call, why or UNKNOWN)
    if not is_layer(layer):
        return _follow_operation(trace, call, kind, data)
    if kind in MERGING:
        return _follow_merge(trace, call, data)
    if kind == "Concatenate":
        return _follow_concatenation(trace, call, data)
    return (
        _follow_layer(trace, call, kind, data[0]) if len(data) == 1 else trace.refuse(call, UNKNOWN)
    )


def _follow_layer(trace: ChannelTrace, call: Call, kind: str, tensor: int) -> ChannelsOrFixed:
    """Return what comes out of a layer with one input."""
    layer = call.layer
    if kind in SUMMING:
        return _follow_weighted_sum(trace, call, tensor)
    if kind == "Embedding":
        return trace.give(call, -1, layer.output_dim)
    if mixes_channels(getattr(layer, "activation", None)):
        return trace.refuse(call, "looks at all channels at once")
    if kind in POINTWISE:
        return trace.tensors[tensor]
    if kind in {"Flatten", "Reshape", "Permute"}:
        return _follow_reshape(trace, call, kind, tensor)
    return _follow_channelwise(trace, call, kind, tensor)


def _follow_weighted_sum(trace: ChannelTrace, call: Call, tensor: int) -> TensorChannels:
    """Follow a convolution or Dense layer: new channels come out."""
    rank = len(trace.graph.shape_of(tensor))
    axis = -1 if keras_class_name(call.layer) == "Dense" else channel_axis(call.layer, rank)
    trace.take(call, trace.channels_at(tensor, axis, call))
    mixes = mixes_channels(call.layer.activation)
    reason = "its activation looks at all channels at once" if mixes else ""
    return trace.give(call, axis, trace.graph.shape_of(call.outputs[0])[axis] or 0, reason)


def _follow_channelwise(trace: ChannelTrace, call: Call, kind: str, tensor: int) -> ChannelsOrFixed:
    """Follow a layer that treats every channel by itself."""
    rank, layer = len(trace.graph.shape_of(tensor)), call.layer
    if kind == "PReLU":
        found = trace.read.get(id(layer), trace.tensors[tensor])
        axis = found.axis if isinstance(found, TensorChannels) else -1
        return trace.take(call, trace.channels_at(tensor, axis, call))
    if kind == "BatchNormalization":
        return trace.take(call, trace.channels_at(tensor, layer.axis % rank - rank, call))
    if kind in DEPTHWISE:
        axis = channel_axis(layer, rank)
        read = trace.take(call, trace.channels_at(tensor, axis, call))
        return TensorChannels(axis, np.repeat(read.atoms, layer.depth_multiplier))
    if kind in SPATIAL:
        return _follow_spatial(trace, call, tensor)
    return trace.refuse(call, UNKNOWN)


def _follow_spatial(trace: ChannelTrace, call: Call, tensor: int) -> ChannelsOrFixed:
    """Follow pooling, padding and the like, which may take axes away."""
    found, before = trace.tensors[tensor], len(trace.graph.shape_of(tensor))
    axis, after = channel_axis(call.layer, before), len(trace.graph.shape_of(call.outputs[0]))
    if isinstance(found, FixedTensor):
        return found
    if found.axis != axis:
        return trace.refuse(call, "reads its channels along another axis")
    return TensorChannels(axis if before == after else -1, found.atoms)


def _follow_reshape(trace: ChannelTrace, call: Call, kind: str, tensor: int) -> ChannelsOrFixed:
    """Follow atoms to their new places; they must lie along one axis there, too."""
    found = trace.tensors[tensor]
    if isinstance(found, FixedTensor):
        return found
    before, after = trace.graph.shape_of(tensor)[1:], trace.graph.shape_of(call.outputs[0])[1:]
    sizes = [size for size in (*before, *after) if size is not None]
    if len(sizes) < len(before) + len(after):
        return trace.refuse(call, "moves channels in a way that depends on the size of the input")
    moved = _moved_atoms(call.layer, kind, _spread_atoms(found, before)).reshape(
        sizes[len(before) :]
    )
    along = [axis for axis in range(-moved.ndim, 0) if _varies_only_along(moved, axis)]
    if len(along) != 1 or (kind == "Reshape" and len(trace.graph.calls_of(call.layer)) > 1):
        return trace.refuse(call, "moves channels to more than one place")
    return TensorChannels(along[0], _atom_lines(moved, along[0])[0])


def _spread_atoms(found: TensorChannels, shape: Sequence[int | None]) -> Any:
    """Return a whole sample of the tensor, with the atom in every place."""
    places = [1] * len(shape)
    places[found.axis] = len(found.atoms)
    return np.broadcast_to(found.atoms.reshape(places), [size or 1 for size in shape])


def _moved_atoms(layer: Any, kind: str, atoms: Any) -> Any:
    if kind == "Permute":
        return np.transpose(atoms, [dim - 1 for dim in layer.dims])
    is_first = kind == "Flatten" and layer.data_format == "channels_first"
    return np.moveaxis(atoms, 0, -1) if is_first else atoms


def _varies_only_along(atoms: Any, axis: int) -> bool:
    """Whether atoms differ along an axis and are the same along all others."""
    lines = _atom_lines(atoms, axis)
    return lines.shape[1] > 1 and bool((lines == lines[0]).all())


def _atom_lines(atoms: Any, axis: int) -> Any:
    return np.moveaxis(atoms, axis, -1).reshape(-1, atoms.shape[axis])


def _follow_operation(
    trace: ChannelTrace, call: Call, kind: str, data: list[int]
) -> ChannelsOrFixed:
    """Follow an operation of `keras.ops`."""
    if kind == "Concatenate":
        return _follow_concatenation(trace, call, data)
    if not _only_numbers_beside(call):
        return trace.refuse(call, "has an array among its arguments")
    if kind in MERGING_OPERATIONS:
        return _follow_merge(trace, call, data)
    if kind in ELEMENTWISE_OPERATIONS and len(data) == 1:
        return trace.tensors[data[0]]
    return trace.refuse(call, UNKNOWN)


def _only_numbers_beside(call: Call) -> bool:
    import keras

    leaves = keras.tree.flatten((call.args, dict(call.kwargs)))
    return all(getattr(leaf, "ndim", 0) == 0 for leaf in leaves)


def _follow_merge(trace: ChannelTrace, call: Call, data: list[int]) -> ChannelsOrFixed:
    """Follow an addition and the like: channels in the same place hang together."""
    found = [trace.tensors[tensor] for tensor in data]
    free = [one for one in found if isinstance(one, TensorChannels)]
    if not free:
        return found[0]
    if len({one.axis for one in free}) > 1:
        return trace.refuse(call, "puts different axes together")
    return _tie_to_widest(trace, call, data, max(free, key=lambda one: len(one.atoms)))


def _tie_to_widest(
    trace: ChannelTrace, call: Call, data: list[int], widest: TensorChannels
) -> ChannelsOrFixed:
    """Tie all tensors to the widest one; a single channel is spread over all of it."""
    shape = trace.graph.shape_of(call.outputs[0])
    if len(shape) < -widest.axis or shape[widest.axis] != len(widest.atoms):
        return trace.refuse(call, "spreads one channel over many")
    for tensor in data:
        one, sizes = trace.tensors[tensor], trace.graph.shape_of(tensor)
        size = sizes[widest.axis] if len(sizes) > -widest.axis else 1
        if size == 1 and len(widest.atoms) > 1:
            trace.freeze(tensor, f"'{call.name}' spreads it over all channels")
        elif isinstance(one, TensorChannels):
            trace.atoms.tie(widest.atoms, one.atoms)
        else:
            trace.atoms.freeze(widest.atoms, one.reason)
    return widest


def _follow_concatenation(trace: ChannelTrace, call: Call, data: list[int]) -> ChannelsOrFixed:
    """Follow a concatenation: along the channels they line up, along another axis they are tied."""
    found = [trace.tensors[tensor] for tensor in data]
    axes = {one.axis for one in found if isinstance(one, TensorChannels)}
    rank = len(trace.graph.shape_of(call.outputs[0]))
    if not axes:
        return found[0]
    if len(axes) > 1:
        return trace.refuse(call, "puts different axes together")
    axis = axes.pop()
    if call.layer.axis is None or call.layer.axis % rank - rank != axis:
        return _follow_merge(trace, call, data)
    parts = [trace.channels_at(tensor, axis, call).atoms for tensor in data]
    return TensorChannels(axis, np.concatenate(parts))


# Functions of `keras.activations` that treat every number by itself. Others (softmax, glu) look at
# all channels, and a function of the user's may do anything.
ELEMENTWISE = frozenset(
    [
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "selu",
        "gelu",
        "silu",
        "swish",
        "celu",
        "tanh",
        "tanh_shrink",
        "sigmoid",
        "hard_sigmoid",
        "hard_silu",
        "hard_swish",
        "hard_tanh",
        "hard_shrink",
        "soft_shrink",
        "softplus",
        "softsign",
        "exponential",
        "linear",
        "mish",
        "log_sigmoid",
        "threshold",
        "squareplus",
        "sparse_plus",
        "sparse_sigmoid",
    ]
)
# Operations of `keras.ops` by class name, which are no layers.
ELEMENTWISE_OPERATIONS = frozenset(
    [
        "Relu",
        "Relu6",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Gelu",
        "Silu",
        "Celu",
        "Tanh",
        "Sigmoid",
        "HardSigmoid",
        "HardSilu",
        "HardTanh",
        "Softplus",
        "Softsign",
        "Abs",
        "Absolute",
        "Negative",
        "Square",
        "Exp",
        "Identity",
        "Cast",
    ]
)
MERGING_OPERATIONS = frozenset(
    ["Add", "Subtract", "Multiply", "Maximum", "Minimum", "Divide", "TrueDivide"]
)

MERGING = frozenset(["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"])
CONVOLUTIONS = frozenset({"Conv1D", "Conv2D", "Conv3D"})
TRANSPOSED = frozenset({"Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"})
SEPARABLE = frozenset({"SeparableConv1D", "SeparableConv2D"})
DEPTHWISE = frozenset({"DepthwiseConv1D", "DepthwiseConv2D"})
# Layers whose results have channels of their own.
SUMMING = CONVOLUTIONS | TRANSPOSED | SEPARABLE | {"Dense"}
# Layers that treat every channel by itself, wherever the channels are.
POINTWISE = frozenset(
    [
        "ReLU",
        "LeakyReLU",
        "ELU",
        "Activation",
        "Dropout",
        "AlphaDropout",
        "GaussianDropout",
        "GaussianNoise",
        "Identity",
        "ActivityRegularization",
        "Rescaling",
    ]
)
# Layers that treat every channel by itself and know where the channels are.
SPATIAL = frozenset(
    f"{kind}{rank}D"
    for kind in [
        "MaxPooling",
        "AveragePooling",
        "GlobalMaxPooling",
        "GlobalAveragePooling",
        "AdaptiveAveragePooling",
        "AdaptiveMaxPooling",
        "SpatialDropout",
        "ZeroPadding",
        "Cropping",
        "UpSampling",
    ]
    for rank in (1, 2, 3)
)


def is_layer(operation: Any) -> bool:
    """Tell whether it is a layer, and no bare operation such as `keras.ops.add`."""
    import keras

    return isinstance(operation, keras.Layer)


def channel_obstacle(layer: Any) -> str:
    """Return why a layer of a known kind has to keep its channels; an empty text where not."""
    if getattr(layer, "quantization_mode", None):
        return "is quantized"
    if getattr(layer, "lora_enabled", False):
        return "has LoRA weights"
    if keras_class_name(layer) in CONVOLUTIONS and layer.groups != 1:
        return "is a convolution in groups"
    if getattr(layer, "renorm", False):
        return "is batch renormalization"
    if any(size not in (None, 1) for size in getattr(layer, "noise_shape", None) or ()):
        return "has a noise_shape"
    if np_ndim(getattr(layer, "scale", 0)) or np_ndim(getattr(layer, "offset", 0)):
        return "scales every channel by a number of its own"
    return ""


def np_ndim(value: Any) -> int:
    """Return how many axes a value of a configuration has."""
    import numpy as np

    return int(np.ndim(value)) if isinstance(value, list | tuple | np.ndarray) else 0


def mixes_channels(activation: Any) -> bool:
    """Tell whether an activation may look at more than one channel at a time."""
    import keras

    if activation is None:
        return False
    if isinstance(activation, keras.Layer):
        return keras_class_name(activation) not in {"ReLU", "LeakyReLU", "ELU"}
    name = getattr(activation, "__name__", "")
    return name not in ELEMENTWISE or getattr(keras.activations, name, None) is not activation


def channel_axis(layer: Any, rank: int) -> int:
    """Return where a layer has its channels, counted from the end."""
    return 1 - rank if getattr(layer, "data_format", None) == "channels_first" else -1
