"""The same model built again from fresh layers, some of them replaced by others."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quickfit.compression.walking.call import Call, Ref
from quickfit.compression.walking.copies import copy_flags, copy_state, fresh, quiet
from quickfit.compression.walking.kinds import has_graph
from quickfit.compression.walking.private import node_of
from quickfit.errors import ModelError

if TYPE_CHECKING:
    from quickfit.compression.graph import Graph, Maker


class Copies:
    """The fresh layers of one rebuilt model: one per layer, however often it is called."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def called(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what the copy of the call's layer makes of `tensors`."""
        import keras

        copy = self._copies.get(id(call.layer))
        if copy is not None:
            return call.replay(copy, tensors)
        copy = self._copies[id(call.layer)] = _copy_of(call)
        result = call.replay(copy, tensors)
        if isinstance(copy, keras.Layer) and not has_graph(call.layer):
            copy_state(call.layer, copy)
            copy_flags(call.layer, copy, trainable=call.trainable)
        return result


def rebuilt(graph: "Graph", make: "Maker | None" = None, *, name: str | None = None) -> Any:
    """Return a new model like the one that `graph` was made of.

    Args:
        graph: what `graph_of` returned.
        make: asked for every call in order, with the call and the new model's tensors in the order
            of `call.inputs`. None means "copy the layer": same class, configuration, weights,
            name, dtype policy and trainable flag. Anything else, a tensor or the tensors of
            `call.outputs`, stands in its place.
        name: the name of the new model; by default that of the old one.

    Raises:
        ModelError: a layer cannot be copied, or `make` returned a wrong number of tensors.
    """
    copies = Copies()
    with quiet():
        tensors = [_input_like(tensor) for tensor in graph.model.inputs]
        values = dict(zip(graph.inputs, tensors, strict=True))
        for call in graph.calls:
            given = tuple(values[number] for number in call.inputs)
            made = make(call, given) if make is not None else None
            made = copies.called(call, given) if made is None else made
            values.update(zip(call.outputs, _flat(made, call), strict=True))
        return _model(graph, values, name or graph.name)


def _copy_of(call: Call) -> Any:
    """Return a fresh layer for a call; a nested model that stayed whole is rebuilt itself."""
    from quickfit.compression.graph import graph_of

    if has_graph(call.layer):
        return rebuilt(graph_of(call.layer), name=call.name)
    return fresh(call.layer, name=call.name)


def _input_like(tensor: Any) -> Any:
    """Return a new input; where Keras chose the names, layer and tensor have different ones."""
    layer = node_of(tensor).operation
    made = type(layer).from_config(layer.get_config()).output
    made.name = tensor.name
    return made


def _flat(made: Any, call: Call) -> list[Any]:
    import keras

    flat = list(keras.tree.flatten(made))
    if len(flat) != len(call.outputs):
        raise ModelError(
            f"What stands in place of '{call.name}' gives {len(flat)} tensors, and "
            f"{len(call.outputs)} are needed."
        )
    return flat


def _model(graph: "Graph", values: Mapping[int, Any], name: str) -> Any:
    import keras

    def tensor(leaf: Ref) -> Any:
        return values[leaf.number]

    inputs, outputs = (
        keras.tree.map_structure(tensor, structure)
        for structure in (graph.input_structure, graph.output_structure)
    )
    model = keras.Model(inputs, outputs, name=name)
    if model.dtype_policy.name != graph.model.dtype_policy.name:
        model.dtype_policy = graph.model.dtype_policy
    return model
