"""One call of a layer inside a model, with everything needed to make the same call again."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

    def replay(self, layer: Any, tensors: Sequence[Any], **changes: Any) -> Any:
        """Call another layer the way this one was called, on `tensors` in the order of `inputs`.

        Arguments that Keras adds by itself (a mask, `training`) are left out where `layer` does
        not take them. `changes` replaces keyword arguments.
        """
        args, kwargs = self.arguments(dict(zip(self.inputs, tensors, strict=True)))
        kwargs.update(changes)
        # `__call__` of a layer hands `training` on to those inside it, taken or not.
        taken = {k: v for k, v in kwargs.items() if k == "training" or takes(layer.call, k)}
        return layer(*args, **taken)


def takes(method: Any, keyword: str) -> bool:
    """Tell whether a method takes a keyword that Keras adds by itself; all others it must take."""
    if keyword not in ADDED_BY_KERAS:
        return True
    parameters = inspect.signature(method).parameters
    has_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return keyword in parameters or has_any
