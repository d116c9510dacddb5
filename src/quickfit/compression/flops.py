"""The floating-point operations of a prediction, counted layer by layer from shapes alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quickfit.compression.counting.sizes import Shape
from quickfit.compression.counting.table import operations
from quickfit.compression.graph import Call, Graph, graph_of
from quickfit.compression.walking.kinds import has_graph
from quickfit.compression.walking.shapes import specs_from
from quickfit.errors import ModelError, UsageError


@dataclass(frozen=True)
class Flops:
    """The operations of one prediction; a multiplication and its addition are two.

    Args:
        total: all that are known.
        by_layer: by name of layer; a shared layer counts as often as it is called.
        uncounted: the names of layers whose operations are not known: custom layers, rare ones.
            They are missing in `total`.
    """

    total: int
    by_layer: Mapping[str, int]
    uncounted: tuple[str, ...]


def flops(model: Any, batch: int = 1, *, size: int | tuple[int, ...] | None = None) -> Flops:
    """Count the operations of a model for one batch.

    Args:
        model: a functional or Sequential model, or its graph.
        batch: how many samples; a model with a fixed batch has its own.
        size: for inputs with open sizes, such as (None, None, 3): what to put in their places, in
            their order. One number stands for all of them.

    Raises:
        ModelError: an input has open sizes and `size` is not given, or does not fill them.
    """
    if batch < 1:
        raise UsageError(f"batch says how many samples: 1 or more, and {batch!r} came.")
    graph = model if isinstance(model, Graph) else graph_of(model)
    return _counted(graph, [_filled(graph, number, batch, size) for number in graph.inputs])


def _counted(graph: Graph, inputs: list[Shape]) -> Flops:
    import keras

    given = {
        number: keras.KerasTensor(shape, dtype=graph.dtype_of(number))
        for number, shape in zip(graph.inputs, inputs, strict=True)
    }
    specs = specs_from(graph.calls, given)
    shapes = {number: tuple(spec.shape) for number, spec in specs.items()}
    by_layer: dict[str, int] = {}
    uncounted: dict[str, None] = {}
    for call in graph.calls:
        count = _operations(call, shapes)
        if count is None:
            uncounted[call.name] = None
        else:
            by_layer[call.name] = by_layer.get(call.name, 0) + count
    return Flops(sum(by_layer.values()), by_layer, tuple(uncounted))


def _operations(call: Call, shapes: Mapping[int, Any]) -> int | None:
    given = [shapes[number] for number in _data_of(call)]
    made = [shapes[number] for number in call.outputs]
    if any(size is None for shape in (*given, *made) for size in shape):
        return None  # a layer that does not know how large its own result is
    if not has_graph(call.layer):
        return operations(call.layer, given, made)
    inner = graph_of(call.layer)
    inputs = _taken(inner, given)
    counted = _counted(inner, inputs) if inputs else None
    return None if counted is None or counted.uncounted else counted.total


def _data_of(call: Call) -> list[int]:
    """Return the tensors that a call computes with, masks left out."""
    arguments = call.tensors_by_argument()
    return [n for name, numbers in arguments.items() if "mask" not in name for n in numbers]


def _taken(inner: Graph, given: list[Shape]) -> list[Shape] | None:
    """Return the shapes that a nested model makes of its inputs; None where they do not fit.

    As Keras does, an axis of size 1 at the end is added or taken away.
    """
    taken = []
    for number, shape in zip(inner.inputs, given, strict=False):
        wanted = inner.shape_of(number)
        if len(shape) != len(wanted):
            shape = shape[:-1] if len(shape) > len(wanted) else (*shape, 1)
        if len(shape) != len(wanted):
            return None
        if any(want not in (None, size) for want, size in zip(wanted, shape, strict=True)):
            return None
        taken.append(shape)
    return taken if len(taken) == len(inner.inputs) else None


def _filled(graph: Graph, number: int, batch: int, size: int | tuple[int, ...] | None) -> Shape:
    first, *rest = graph.shape_of(number)
    opened = rest.count(None)
    sizes = [size] * opened if isinstance(size, int) else list(size or ())
    if opened and len(sizes) != opened:
        raise ModelError(_open_sizes(graph, number, opened, size))
    filled = [sizes.pop(0) if one is None else one for one in rest]
    return (first or batch, *filled)


def _open_sizes(graph: Graph, number: int, opened: int, size: Any) -> str:
    name = graph.input_names[graph.inputs.index(number)]
    shape = tuple("…" if one is None else one for one in graph.shape_of(number)[1:])
    example = "224" if opened == 1 else str((224,) * opened)
    came = "" if size is None else f" ({size!r} came)"
    return (
        f"The operations of '{graph.name}' depend on the size of its input '{name}', which is "
        f"open: ({', '.join(map(str, shape))}). Say which size you mean{came}: size={example}"
    )
