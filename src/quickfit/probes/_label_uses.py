"""Follows labels through the graph of a compiled step, to where a loss broadcasts them.

Only what is certain is told: arithmetic between labels and something that the weights made, both
with the batch in front, of different ranks, whose result is larger than either, and which the
gradient is taken of. Pairs that are compared on purpose have an axis added first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from quickfit.probes._places import Place, absolute, is_user_file

if TYPE_CHECKING:
    from quickfit.probes._state import State

# Operations that change labels one by one and keep their shape.
_ONE_BY_ONE = frozenset(
    ("Cast", "Identity", "StopGradient", "Neg", "Abs", "Square", "Sqrt", "Log", "Log1p", "Exp")
)
# Arithmetic that broadcasts. Comparisons are left out: they have no gradient.
_ARITHMETIC = frozenset(
    ("Sub", "SquaredDifference", "Mul", "AddV2", "RealDiv", "DivNoNan", "Maximum", "Minimum")
)
# What adds an axis or turns axes around: whoever writes that wants to broadcast.
_ON_PURPOSE = frozenset(("ExpandDims", "StridedSlice", "Transpose"))
# In the names of the operations that a `GradientTape` or `tf.gradients` made.
_GRADIENT = ("gradient_tape/", "gradients/")
# Operations that are looked at, so that no graph takes long.
MAX_FORWARD, MAX_BACK = 200, 2_000
# Functions of the script that are looked at; one that is traced again and again has many graphs.
MAX_FUNCTIONS = 32


def first_broadcast(labels: Iterable[Any], state: State) -> dict[str, Any] | None:
    """Return the first operation that broadcasts labels against predictions, or None.

    Args:
        labels: tensors of a graph, as they come into it.
        state: of this process, which notes the text of the line that it is written in.
    """
    for operation, shapes in (found for tensor in labels for found in _uses(tensor)):
        place = state.source(_place_of(operation))
        where = {"file": place.file, "line": place.line} if place is not None else {}
        return {"operation": operation.type, **shapes, **where}
    return None


def follow(concrete_function: Any, state: State) -> None:
    """Look at a compiled function of the script: any of its arguments may be labels.

    Args:
        concrete_function: what was traced.
        state: of this process, which keeps what was found for the loop that calls it.
    """
    told: dict[str, Any] = state.kept.setdefault("labels followed", {"functions": 0})
    if told["functions"] >= MAX_FUNCTIONS:
        return
    told["functions"] += 1
    with contextlib.suppress(Exception):  # an odd graph must not end the recording of traces
        graph = concrete_function.graph
        if any(map(_is_gradient, graph.get_operations())):
            given = len(graph.inputs) - len(concrete_function.captured_inputs)
            found = first_broadcast(graph.inputs[:given], state)
            told["labels_followed"] = True
            if found is not None:
                told.setdefault("labels_broadcast", found)


def followed(state: State) -> dict[str, Any]:
    """Return the facts for a loop of the script's own."""
    told: dict[str, Any] = state.kept.get("labels followed", {})
    return {name: told[name] for name in ("labels_followed", "labels_broadcast") if name in told}


def shape_of(shape: Any) -> list[int | None]:
    """Return the sides of a shape, None for those that are not known."""
    return [None if side is None else int(side) for side in shape]


def size_of(shape: Any) -> int:
    """Return the number of elements; a side that is not known counts as many."""
    size = 1
    for side in shape:
        size *= 1_000 if side is None else int(side)
    return size


def _place_of(operation: Any) -> Place | None:
    """Return the user's line that an operation was made in."""
    for frame in reversed(operation.traceback or ()):
        if is_user_file(frame.filename):
            return Place(absolute(frame.filename), frame.lineno, frame.name)
    return None


def _uses(labels: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the operations that broadcast labels, or what is made of them one by one."""
    waiting, seen = [labels], set[str]()
    while waiting and len(seen) < MAX_FORWARD:
        tensor = waiting.pop()
        for operation in tensor.consumers():
            if operation.name in seen or _is_gradient(operation):
                continue
            seen.add(operation.name)
            if operation.type in _ONE_BY_ONE or _has_only_numbers(operation, tensor):
                waiting.append(operation.outputs[0])
            elif operation.type in _ARITHMETIC:
                found = _broadcast(operation, tensor)
                if found is not None:
                    yield operation, found


def _has_only_numbers(operation: Any, tensor: Any) -> bool:
    """Tell whether labels meet nothing but a number: scaled, shifted or cut off at a bound."""
    others = [i for i in operation.inputs if i is not tensor]
    return operation.type in _ARITHMETIC and all(other.shape.rank == 0 for other in others)


def _broadcast(operation: Any, tensor: Any) -> dict[str, Any] | None:
    other = next((i for i in operation.inputs if i is not tensor), None)
    result = operation.outputs[0]
    if other is None or any(t.shape.rank in (0, None) for t in (tensor, other, result)):
        return None
    labels, outputs, made = (shape_of(t.shape) for t in (tensor, other, result))
    # A part that is stretched to the other's shape is meant.
    is_larger = size_of(made) > max(size_of(labels), size_of(outputs))
    if not is_larger or len(labels) == len(outputs) or not _may_be_same(labels[0], outputs[0]):
        return None
    if _is_on_purpose(other) or not _is_trained(result) or not _is_of_weights(other):
        return None
    return {"labels": labels, "outputs": outputs, "result": made}


def _may_be_same(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def _is_on_purpose(tensor: Any) -> bool:
    """Tell whether a tensor was given one more axis right before its use."""
    maker = tensor.op
    while maker.type in _ONE_BY_ONE:
        maker = maker.inputs[0].op
    is_list = maker.type == "Reshape" and maker.inputs[0].shape.rank == 1
    return maker.type in _ON_PURPOSE or is_list


def _is_gradient(operation: Any) -> bool:
    return any(part in operation.name for part in _GRADIENT)


def _is_trained(result: Any) -> bool:
    """Tell whether a gradient is taken of a result: that of a metric has none."""
    waiting, seen = [result], set[str]()
    while waiting and len(seen) < MAX_FORWARD:
        for operation in waiting.pop().consumers():
            if _is_gradient(operation):
                return True
            if operation.name not in seen:
                seen.add(operation.name)
                waiting.extend(operation.outputs)
    return False


def _is_of_weights(tensor: Any) -> bool:
    """Tell whether a variable was read to make a tensor: then it is no data, but a prediction."""
    waiting, seen = [tensor.op], set[str]()
    while waiting and len(seen) < MAX_BACK:
        operation = waiting.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        if any(i.dtype.name == "resource" for i in operation.inputs):
            return True
        waiting.extend(i.op for i in operation.inputs)
    return False
