"""The channels of a whole model: which of them come from where, and which hang together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from quickfit.compression.graph import Call, Graph
from quickfit.compression.pruning.atoms import Atoms, Places

UNKNOWN = "needs all of its inputs, as far as quickfit knows"


@dataclass(frozen=True)
class Channels:
    """The channels of a tensor, or of what a layer reads or makes.

    Args:
        axis: where they are, counted from the end.
        atoms: one per channel; the same one may come several times.
    """

    axis: int
    atoms: Places


@dataclass(frozen=True)
class Fixed:
    """A tensor of which nothing can be removed.

    Args:
        reason: why, as the end of a sentence about a layer that is tied to it.
    """

    reason: str


@dataclass
class Trace:
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
    atoms: Atoms = field(default_factory=Atoms)
    tensors: dict[int, Channels | Fixed] = field(default_factory=dict)
    read: dict[int, Channels] = field(default_factory=dict)
    made: dict[int, Channels] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    def channels_at(self, tensor: int, axis: int, reader: Call) -> Channels:
        """Return the channels of a tensor along an axis that a layer reads them at."""
        found = self.tensors[tensor]
        if isinstance(found, Channels) and found.axis == axis:
            return found
        reason = found.reason if isinstance(found, Fixed) else across(reader)
        self.freeze(tensor, reason)
        return Channels(axis, self.atoms.new(self.graph.shape_of(tensor)[axis] or 0, reason))

    def freeze(self, tensor: int, reason: str) -> bool:
        """Keep all channels of a tensor; tell whether some of them could have gone."""
        found = self.tensors.get(tensor)
        self.tensors[tensor] = Fixed(reason) if found is None else found
        return isinstance(found, Channels) and self.atoms.freeze(found.atoms, reason)

    def take(self, call: Call, channels: Channels) -> Channels:
        """Remember what a layer with weights reads; all calls of a layer read the same channels."""
        first = self.read.setdefault(id(call.layer), channels)
        if first is not channels:
            self.atoms.tie(first.atoms, channels.atoms)
        return first

    def give(self, call: Call, axis: int, count: int, reason: str = "") -> Channels:
        """Return the channels that a layer makes, the same ones for all its calls."""
        key = id(call.layer)
        if key not in self.made:
            self.made[key] = Channels(axis, self.atoms.new(count, reason))
        return self.made[key]

    def refuse(self, call: Call, why: str) -> Fixed:
        """Keep everything around a layer that is not understood."""
        reason = f"its channels reach '{call.name}' ({type(call.layer).__name__}), which {why}"
        froze = [self.freeze(tensor, reason) for tensor in call.inputs]
        if any(froze) or getattr(call.layer, "weights", None):
            effect = "" if why == UNKNOWN else ", so all of its inputs are kept"
            self.unknown.setdefault(call.name, f"it {why}{effect}")
        return Fixed(reason)

    def calls_with(self, layers: Iterable[int]) -> list[Call]:
        """Return the first call of each of these layers, in the order of the model."""
        wanted = set(layers)
        found: dict[int, Call] = {}
        for call in self.graph.calls:
            if id(call.layer) in wanted:
                found.setdefault(id(call.layer), call)
        return list(found.values())


def across(call: Call) -> str:
    """Return the reason to keep channels that a layer does not treat as channels."""
    kind = type(call.layer).__name__
    return f"'{call.name}' ({kind}) reads its channels along another axis"
