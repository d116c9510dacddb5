"""The walk through a functional model: its calls in order, nested models dissolved into them."""

from dataclasses import dataclass, field
from typing import Any

from quickfit.compression.walking.call import Ref
from quickfit.compression.walking.nested import dissolves
from quickfit.compression.walking.order import in_order
from quickfit.compression.walking.private import arguments_of, body_of, takes_training
from quickfit.compression.walking.shapes import output_specs


@dataclass(frozen=True)
class Found:
    """A call as it was found, before the layers have their final names."""

    layer: Any
    path: tuple[str, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Where in the nesting of models the walk is.

    Args:
        path: the names of the nested models around it, the outermost first.
        training: `training=` that a model around it was called with; it wins over the layer's own.
    """

    path: tuple[str, ...] = ()
    training: bool | None = None

    def inside(self, model: Any, training: bool | None) -> "Place":
        """Return the place of the layers inside a nested model."""
        value = training if self.training is None else self.training
        return Place((*self.path, model.name), value)


@dataclass
class Walk:
    """Numbers the tensors of a model and collects its calls in topological order."""

    found: list[Found] = field(default_factory=list)
    specs: list[Any] = field(default_factory=list)  # a symbolic tensor per number

    def number(self, spec: Any) -> int:
        """Give a tensor of this shape and dtype the next number."""
        self.specs.append(spec)
        return len(self.specs) - 1

    def through(self, body: Any, numbers: dict[int, int], place: Place) -> list[int]:
        """Walk one model whose inputs have `numbers` (by id of tensor); return its outputs."""
        for node in in_order(body):
            args, kwargs = arguments_of(node)
            if place.training is not None and takes_training(node.operation):
                kwargs["training"] = place.training
            if dissolves(node.operation, args, kwargs):
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
        place: Place,
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
        place: Place,
    ) -> list[int]:
        import keras

        def ref(leaf: Any) -> Any:
            return Ref(numbers[id(leaf)]) if isinstance(leaf, keras.KerasTensor) else leaf

        made = self._made(node, args, kwargs, numbers)
        args, kwargs = keras.tree.map_structure(ref, (args, kwargs))
        leaves = keras.tree.flatten((args, kwargs))
        inputs = tuple(leaf.number for leaf in leaves if isinstance(leaf, Ref))
        outputs = [self.number(spec) for spec in made]
        self.found.append(Found(node.operation, place.path, args, kwargs, inputs, tuple(outputs)))
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
