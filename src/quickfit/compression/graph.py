"""The one walker of models: what is called on what, and the same model built again with changes.

    graph = graph_of(model)
    student = rebuilt(graph, make=lambda call, tensors: None)   # an exact copy

Functional and Sequential models; nested models are dissolved into the graph, so that their layers
are seen like all others. The user's model is only ever read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from quickfit.compression.walking.call import Call, Ref
from quickfit.compression.walking.compiling import compile_like
from quickfit.compression.walking.copies import fresh
from quickfit.compression.walking.kinds import graph_body
from quickfit.compression.walking.names import Names
from quickfit.compression.walking.private import node_of
from quickfit.compression.walking.rebuilding import rebuilt
from quickfit.compression.walking.walk import Found, Place, Walk

__all__ = ["Call", "Graph", "Maker", "Ref", "Shape", "copied", "fresh", "graph_of", "rebuilt"]

# What `make` of `rebuilt` is: asked for every call, with the new model's tensors of its inputs.
# `Any`: symbolic tensors of Keras, which has no types.
Maker = Callable[[Call, tuple[Any, ...]], Any]
Shape = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Graph:
    """The calls of a model in topological order, and the tensors between them, by number.

    Args:
        model: the user's model: to read, never to change.
        calls: every call of a layer or operation, after those whose results it needs. Input layers
            are not among them.
        inputs: the numbers of the model's inputs, in the order of `model.inputs`.
        outputs: the numbers of the model's outputs, in the order of `model.outputs`.
        input_structure: the inputs as the model takes them (a dict, a list…), of `Ref`s.
        output_structure: the outputs as the model gives them, of `Ref`s.
    """

    model: Any
    calls: tuple[Call, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    input_structure: Any
    output_structure: Any
    _shapes: tuple[Shape, ...]
    _dtypes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self.model.name)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the model's input layers, in the order of `inputs`."""
        return tuple(node_of(tensor).operation.name for tensor in self.model.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the layers that make the outputs; Keras names the outputs after them."""
        made = {tensor: call.name for call in self.calls for tensor in call.outputs}
        given = dict(zip(self.inputs, self.input_names, strict=True))
        return tuple({**given, **made}[tensor] for tensor in self.outputs)

    def shape_of(self, tensor: int) -> Shape:
        """Return the shape of a tensor, None where a size is open (the batch)."""
        return self._shapes[tensor]

    def dtype_of(self, tensor: int) -> str:
        """Return the dtype of a tensor."""
        return self._dtypes[tensor]

    def producer(self, tensor: int) -> Call | None:
        """Return the call that makes a tensor; None for an input of the model."""
        return self._producers.get(tensor)

    def users(self, tensor: int) -> list[Call]:
        """Return the calls that take a tensor, each once. Outputs of the model are not calls."""
        return list(self._users.get(tensor, ()))

    def calls_of(self, layer: Any) -> list[Call]:
        """Return all calls of a layer: more than one where it is shared."""
        return list(self._by_layer.get(id(layer), ()))

    def call_named(self, name: str) -> Call | None:
        """Return the first call of the layer with this name (as in `Call.name`)."""
        return next((call for call in self.calls if call.name == name), None)

    @cached_property
    def _producers(self) -> dict[int, Call]:
        return {tensor: call for call in self.calls for tensor in call.outputs}

    @cached_property
    def _users(self) -> dict[int, list[Call]]:
        users: dict[int, list[Call]] = {}
        for call in self.calls:
            for tensor in dict.fromkeys(call.inputs):
                users.setdefault(tensor, []).append(call)
        return users

    @cached_property
    def _by_layer(self) -> dict[int, list[Call]]:
        by_layer: dict[int, list[Call]] = {}
        for call in self.calls:
            by_layer.setdefault(id(call.layer), []).append(call)
        return by_layer


def graph_of(model: Any) -> Graph:
    """Return the graph of a functional or (built) Sequential model.

    Raises:
        UsageError: `model` is no Keras model.
        ModelError: it is subclassed, or a Sequential that does not know its input's shape.
    """
    body = graph_body(model)
    walk = Walk()
    numbers = {id(tensor): walk.number(tensor) for tensor in body.inputs}
    inputs = tuple(numbers[id(tensor)] for tensor in body.inputs)
    outputs = walk.through(body, numbers, Place())
    calls = _named(walk.found, body, outputs, is_frozen=not model.trainable)
    return Graph(
        model=model,
        calls=calls,
        inputs=inputs,
        outputs=tuple(outputs),
        input_structure=_packed(body.input, inputs),
        output_structure=_packed(body.output, outputs),
        _shapes=tuple(tuple(spec.shape) for spec in walk.specs),
        _dtypes=tuple(str(spec.dtype) for spec in walk.specs),
    )


def copied(model: Any) -> Any:
    """Return an independent copy of a model, compiled like it where it is compiled.

    The copy is functional, its nested models are dissolved, its optimizer starts anew. A class of
    your own around a functional model, with its `train_step`, is not copied.
    """
    copy = rebuilt(graph_of(model))
    compile_like(model, copy)
    return copy


def _packed(structure: Any, numbers: Sequence[int]) -> Any:
    import keras

    return keras.tree.pack_sequence_as(structure, [Ref(number) for number in numbers])


def _named(
    found: list[Found], body: Any, outputs: Sequence[int], *, is_frozen: bool
) -> tuple[Call, ...]:
    names = Names(node_of(tensor).operation.name for tensor in body.inputs)
    _keep_output_names(names, found, body, outputs)
    for item in sorted(found, key=lambda item: len(item.path)):
        names.add(item.layer, item.path)
    return tuple(
        Call(
            item.layer,
            names[item.layer],
            item.inputs,
            item.outputs,
            item.args,
            item.kwargs,
            not is_frozen and bool(getattr(item.layer, "trainable", True)),
        )
        for item in found
    )


def _keep_output_names(names: Names, found: list[Found], body: Any, outputs: Sequence[int]) -> None:
    """Name layers that make outputs of the model after the nested model that they came from.

    Keras calls an output after the layer that makes it, and losses are given by these names.
    """
    producers = {tensor: item for item in found for tensor in item.outputs}
    wanted = [node_of(tensor).operation.name for tensor in body.outputs]
    for name, tensor in zip(wanted, outputs, strict=True):
        item = producers.get(tensor)
        if item is not None and item.path and wanted.count(name) == 1:
            names.fix(item.layer, name)
