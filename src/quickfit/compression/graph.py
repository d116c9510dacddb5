"""The graph of a Keras model: what is called on what, with nested models dissolved into it.

Functional and Sequential models; nested models are dissolved into the graph, so that their layers
are seen like all others. The user's model is only ever read.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from quickfit.compression.keras_internals import (
    arguments_of,
    body_of,
    graph_body,
    has_graph,
    node_of,
    takes_training,
)

# Arguments that Keras adds to a recorded call by itself: a layer that stands in for another one may
# not know them.
ADDED_BY_KERAS = frozenset({"mask", "training"})


@dataclass(frozen=True)
class Ref:
    """The place of a tensor among the arguments of a call.

    Args:
        number: the number of the tensor in its graph.
    """

    number: int


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a layer, or of an operation such as `keras.ops.add`, in a model.

    Args:
        layer: the user's own layer or operation: to read, never to call or change.
        name: its name, and the name of its copy; it differs from `layer.name` where two nested
            models have layers of the same name.
        inputs: the numbers of the tensors among the arguments, in flattened order: those given by
            place first, those given by name (masks) after them.
        outputs: the numbers of the tensors that come out, in flattened order.
        args: the positional arguments, a `Ref` in place of each tensor.
        kwargs: the keyword arguments, likewise.
        trainable: whether the layer is trained: it is trainable, and so is the whole model. (The
            flag of a nested model has no effect of its own: it is handed on when it is set.)
    """

    layer: Any
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    trainable: bool = True

    def arguments(self, values: Mapping[int, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with `values` (by tensor number) in place of the tensors."""
        import keras

        def filled(leaf: Any) -> Any:
            return values[leaf.number] if isinstance(leaf, Ref) else leaf

        args, kwargs = keras.tree.map_structure(filled, (self.args, dict(self.kwargs)))
        return args, kwargs

    def tensors_by_argument(self) -> dict[str, tuple[int, ...]]:
        """Return the tensors of each argument, in the order of the layer's `call`.

        So it does not matter whether they were given by place or by name.
        """
        import keras

        kwargs = {k: v for k, v in self.kwargs.items() if k != "training"}  # never a tensor
        bound = inspect.signature(self.layer.call).bind(*self.args, **kwargs)
        leaves = {name: keras.tree.flatten(value) for name, value in bound.arguments.items()}
        refs = {name: [x for x in flat if isinstance(x, Ref)] for name, flat in leaves.items()}
        return {name: tuple(ref.number for ref in some) for name, some in refs.items() if some}

    def data_tensors(self) -> list[int]:
        """Return the tensors that the call computes with, masks left out."""
        arguments = self.tensors_by_argument()
        return [n for name, numbers in arguments.items() if "mask" not in name for n in numbers]

    def replay(self, layer: Any, tensors: Sequence[Any], **changes: Any) -> Any:
        """Call another layer the way this one was called, on `tensors` in the order of `inputs`.

        Arguments that Keras adds by itself (a mask, `training`) are left out where `layer` does
        not take them. `changes` replaces keyword arguments.
        """
        args, kwargs = self.arguments(dict(zip(self.inputs, tensors, strict=True)))
        kwargs.update(changes)
        # `__call__` of a layer hands `training` on to those inside it, taken or not.
        taken = {k: v for k, v in kwargs.items() if k == "training" or takes_keyword(layer.call, k)}
        return layer(*args, **taken)


def takes_keyword(method: Any, keyword: str) -> bool:
    """Tell whether a method takes a keyword that Keras adds by itself; all others it must take."""
    if keyword not in ADDED_BY_KERAS:
        return True
    parameters = inspect.signature(method).parameters
    has_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return keyword in parameters or has_any


@dataclass(frozen=True)
class WalkedCall:
    """A call as it was found, before the layers have their final names."""

    layer: Any
    path: tuple[str, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class WalkPlace:
    """Where in the nesting of models the walk is.

    Args:
        path: the names of the nested models around it, the outermost first.
        training: `training=` that a model around it was called with; it wins over the layer's own.
    """

    path: tuple[str, ...] = ()
    training: bool | None = None

    def inside(self, model: Any, training: bool | None) -> "WalkPlace":
        """Return the place of the layers inside a nested model."""
        value = training if self.training is None else self.training
        return WalkPlace((*self.path, model.name), value)


@dataclass
class ModelWalk:
    """Numbers the tensors of a model and collects its calls in topological order."""

    found: list[WalkedCall] = field(default_factory=list)
    specs: list[Any] = field(default_factory=list)  # a symbolic tensor per number

    def number(self, spec: Any) -> int:
        """Give a tensor of this shape and dtype the next number."""
        self.specs.append(spec)
        return len(self.specs) - 1

    def through(self, body: Any, numbers: dict[int, int], place: WalkPlace) -> list[int]:
        """Walk one model whose inputs have `numbers` (by id of tensor); return its outputs."""
        for node in in_order(body):
            args, kwargs = arguments_of(node)
            if place.training is not None and takes_training(node.operation):
                kwargs["training"] = place.training
            if is_dissolvable(node.operation, args, kwargs):
                outputs = self._into(node.operation, args[0], kwargs, numbers, place)
            else:
                outputs = self._call(node, args, kwargs, numbers, place)
            numbers.update(zip(map(id, node.outputs), outputs, strict=True))
        return [numbers[id(tensor)] for tensor in body.outputs]

    def _into(
        self,
        model: Any,
        given: Any,
        kwargs: dict[str, Any],
        numbers: dict[int, int],
        place: WalkPlace,
    ) -> list[int]:
        import keras

        body = body_of(model)
        outer = keras.tree.flatten(given)
        inner = {id(a): numbers[id(b)] for a, b in zip(body.inputs, outer, strict=True)}
        return self.through(body, inner, place.inside(model, kwargs.get("training")))

    def _call(
        self,
        node: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        numbers: dict[int, int],
        place: WalkPlace,
    ) -> list[int]:
        import keras

        def ref(leaf: Any) -> Any:
            return Ref(numbers[id(leaf)]) if isinstance(leaf, keras.KerasTensor) else leaf

        made = self._made(node, args, kwargs, numbers)
        args, kwargs = keras.tree.map_structure(ref, (args, kwargs))
        leaves = keras.tree.flatten((args, kwargs))
        inputs = tuple(leaf.number for leaf in leaves if isinstance(leaf, Ref))
        outputs = [self.number(spec) for spec in made]
        self.found.append(
            WalkedCall(node.operation, place.path, args, kwargs, inputs, tuple(outputs))
        )
        return outputs

    def _made(
        self, node: Any, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: dict[int, int]
    ) -> list[Any]:
        """Return symbolic tensors for what a call makes, with the shapes it has here.

        A nested model was recorded with its own inputs, whose sizes may be open where those of
        the model around it are not.
        """
        import keras

        here = {id(t): self.specs[numbers[id(t)]] for t in node.input_tensors}
        if all(here[id(t)].shape == t.shape for t in node.input_tensors):
            return list(node.outputs)
        args, kwargs = keras.tree.map_structure(lambda x: here.get(id(x), x), (args, kwargs))
        return output_specs(node.operation, args, kwargs)


HALF = frozenset({"float16", "bfloat16"})


def is_dissolvable(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a nested model can be replaced by its own layers without any difference.

    It cannot where Keras does something between the caller and the layers: casts or reshapes the
    input, picks inputs by name, hands a mask or arguments of its own on.
    """
    import keras

    if not has_graph(operation) or len(args) != 1:
        return False
    others = [value for name, value in kwargs.items() if name != "training"]
    if any(leaf is not None for leaf in keras.tree.flatten(others)):
        return False
    return _inputs_fit(args[0], body_of(operation))


def _inputs_fit(given: Any, body: Any) -> bool:
    import keras

    outer, inner = keras.tree.flatten(given), body.inputs
    if len(outer) != len(inner):
        return False
    is_single = len(inner) == 1 and outer[0] is given
    if not is_single and not _is_same_structure(given, body.input):
        return False
    pairs = list(zip(outer, inner, strict=True))
    return all(_is_same_kind(a, b) or _is_cast_back(a, b, body) for a, b in pairs)


def _is_same_structure(given: Any, wanted: Any) -> bool:
    import keras

    try:
        keras.tree.assert_same_structure(
            keras.tree.lists_to_tuples(given), keras.tree.lists_to_tuples(wanted)
        )
    except (TypeError, ValueError):
        return False
    return True


def _is_same_kind(given: Any, wanted: Any) -> bool:
    import keras

    if not isinstance(given, keras.KerasTensor):
        return False
    same_dtype = given.dtype == wanted.dtype and given.sparse == wanted.sparse
    return same_dtype and len(given.shape) == len(wanted.shape)


def _is_cast_back(given: Any, wanted: Any, body: Any) -> bool:
    """Whether an input is made wider for the nested model and narrowed again by all its layers.

    So it is with mixed precision: inputs are float32, and layers compute in 16 bits. Nothing is
    lost or gained on the way.
    """
    import keras

    if not isinstance(given, keras.KerasTensor) or wanted.dtype != "float32":
        return False
    if given.dtype not in HALF or len(given.shape) != len(wanted.shape):
        return False
    users = [n.operation for n in in_order(body) if any(t is wanted for t in n.input_tensors)]
    is_output = any(tensor is wanted for tensor in body.outputs)
    return not is_output and all(_computes_in(user, given.dtype) for user in users)


def _computes_in(operation: Any, dtype: str) -> bool:
    import keras

    is_layer = isinstance(operation, keras.Layer) and not isinstance(operation, keras.Model)
    return is_layer and operation.autocast and operation.compute_dtype == dtype


def in_order(body: Any) -> Iterator[Any]:
    """Yield the nodes between a model's inputs and outputs, each after those it needs.

    Without recursion: a deep model must not end in a RecursionError.
    """
    done = {id(tensor) for tensor in body.inputs}
    waiting = list(reversed(body.outputs))
    while waiting:
        tensor = waiting[-1]
        if id(tensor) in done:
            waiting.pop()
            continue
        node = node_of(tensor)
        missing = [t for t in node.input_tensors if id(t) not in done]
        if missing:
            waiting.extend(reversed(missing))
            continue
        done.update(map(id, node.outputs))
        yield node


class LayerNames:
    """The names of layers and operations, by object.

    Args:
        taken: names that nobody else may get: those of the model's inputs.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._names: dict[int, str] = {}

    def __getitem__(self, operation: Any) -> str:
        return self._names[id(operation)]

    def add(self, operation: Any, path: tuple[str, ...]) -> None:
        """Name an operation found inside the nested models `path`: its own name where free."""
        if id(operation) in self._names:
            return
        own = operation.name
        wanted = [own, "_".join((*path, own))] if path else [own]
        self.fix(operation, next((n for n in wanted if n not in self._taken), self._next(wanted)))

    def fix(self, operation: Any, name: str) -> None:
        """Give an operation exactly this name."""
        self._names[id(operation)] = name
        self._taken.add(name)

    def is_free(self, name: str) -> bool:
        """Tell whether nobody has this name."""
        return name not in self._taken

    def _next(self, wanted: list[str]) -> str:
        number = 1
        while f"{wanted[-1]}_{number}" in self._taken:
            number += 1
        return f"{wanted[-1]}_{number}"


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
    walk = ModelWalk()
    numbers = {id(tensor): walk.number(tensor) for tensor in body.inputs}
    inputs = tuple(numbers[id(tensor)] for tensor in body.inputs)
    outputs = walk.through(body, numbers, WalkPlace())
    calls = _name_calls(walk.found, body, outputs, is_frozen=not model.trainable)
    return Graph(
        model=model,
        calls=calls,
        inputs=inputs,
        outputs=tuple(outputs),
        input_structure=_pack_numbers(body.input, inputs),
        output_structure=_pack_numbers(body.output, outputs),
        _shapes=tuple(tuple(spec.shape) for spec in walk.specs),
        _dtypes=tuple(str(spec.dtype) for spec in walk.specs),
    )


def _pack_numbers(structure: Any, numbers: Sequence[int]) -> Any:
    import keras

    return keras.tree.pack_sequence_as(structure, [Ref(number) for number in numbers])


def _name_calls(
    found: list[WalkedCall], body: Any, outputs: Sequence[int], *, is_frozen: bool
) -> tuple[Call, ...]:
    names = LayerNames(node_of(tensor).operation.name for tensor in body.inputs)
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


def _keep_output_names(
    names: LayerNames, found: list[WalkedCall], body: Any, outputs: Sequence[int]
) -> None:
    """Name layers that make outputs of the model after the nested model that they came from.

    Keras calls an output after the layer that makes it, and losses are given by these names.
    """
    producers = {tensor: item for item in found for tensor in item.outputs}
    wanted = [node_of(tensor).operation.name for tensor in body.outputs]
    for name, tensor in zip(wanted, outputs, strict=True):
        item = producers.get(tensor)
        if item is not None and item.path and wanted.count(name) == 1:
            names.fix(item.layer, name)


def specs_from(calls: Sequence[Call], inputs: Mapping[int, Any]) -> dict[int, Any]:
    """Return a symbolic tensor (shape and dtype) for every number, given those of the inputs."""
    specs = dict(inputs)
    for call in calls:
        args, kwargs = call.arguments(specs)
        specs.update(zip(call.outputs, output_specs(call.layer, args, kwargs), strict=True))
    return specs


def output_specs(layer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return symbolic tensors for what a layer makes of symbolic arguments; nothing is recorded."""
    import keras

    known = {name: value for name, value in kwargs.items() if _is_known(layer, name)}
    specs = list(keras.tree.flatten(layer.compute_output_spec(*args, **known)))
    if isinstance(layer, keras.layers.EinsumDense):
        return [keras.KerasTensor(_einsum_shape(layer, args[0].shape, s), s.dtype) for s in specs]
    return specs


def _is_known(layer: Any, keyword: str) -> bool:
    """Whether a layer takes an argument where shapes are worked out.

    Only its `__call__` sorts out those that Keras adds by itself.
    """
    return all(takes_keyword(method, keyword) for method in (layer.call, layer.compute_output_spec))


def _einsum_shape(layer: Any, given: Any, spec: Any) -> tuple[int | None, ...]:
    """Return the shape that an EinsumDense makes: it forgets sizes that it was told as open."""
    left, _, result = layer.equation.replace(" ", "").partition("->")
    first = left.split(",")[0]
    if "." in left:
        return tuple(spec.shape)  # an ellipsis: Keras takes these sizes from the input
    sizes = dict(zip(first, given, strict=True))
    return tuple(
        sizes.get(letter) if size is None else size
        for letter, size in zip(result, spec.shape, strict=True)
    )
