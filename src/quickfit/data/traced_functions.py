"""What a function of a tf.data chain does, read from the graph it was traced into.

tf.data calls functions that were traced once. Their operations say whether calls may run at the
same time, be moved or be kept; the user's Python code is never called for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PYTHON_OPS = frozenset({"EagerPyFunc", "PyFunc", "PyFuncStateless"})
# Marked as stateful, and yet the same every time: sources of data (marked so that they are not
# folded into constants), checks, and calls of functions, whose own operations are looked at.
_HARMLESS_OPS = frozenset(
    {
        *("TensorDataset", "TensorSliceDataset", "SparseTensorSliceDataset", "RangeDataset"),
        *("TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset"),
        *("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"),
        *("ReduceDataset", "DatasetToSingleElement", "Assert"),
        *("StatefulPartitionedCall", "PartitionedCall", "If", "While", "Case"),
    }
)
_TABLE_OPS = frozenset({"LookupTableFindV2", "LookupTableSizeV2"})
_VARIABLE_OPS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})


@dataclass(frozen=True)
class FunctionTraits:
    """What may be done with a function.

    Args:
        is_pure: the same input gives the same output, always: it may be moved, and its results
            kept.
        is_parallel: calls may run at the same time, as long as their results keep their order.
        is_runnable: running it leaves nothing behind.
        reason: why it is not pure; for people.
    """

    is_pure: bool = True
    is_parallel: bool = True
    is_runnable: bool = True
    reason: str = ""


PURE = FunctionTraits()
_UNKNOWN = FunctionTraits(False, False, False, "what it does cannot be read")


def function_operations(wrapper: Any) -> list[Any] | None:
    """Return the operations of a traced function and of all it calls; None if it has no graph."""
    graph = getattr(getattr(wrapper, "function", None), "graph", None)
    if graph is None or not hasattr(graph, "get_operations"):
        return None
    graphs: list[Any] = []
    waiting = [graph]
    while waiting:
        part = waiting.pop()
        if any(part is known for known in graphs):
            continue
        graphs.append(part)
        for called in (getattr(part, "_functions", None) or {}).values():
            inner = getattr(called, "graph", None)
            if inner is None:
                return None
            waiting.append(inner)
    return [operation for part in graphs for operation in part.get_operations()]


def function_traits(wrapper: Any) -> FunctionTraits:
    """Return what may be done with a traced function of a dataset."""
    try:
        operations = function_operations(wrapper)
        captured = list(wrapper.function.captured_inputs)
    except (AttributeError, TypeError):
        return _UNKNOWN
    if operations is None:
        return _UNKNOWN
    if any(tensor.dtype.name == "variant" for tensor in captured):
        return FunctionTraits(False, False, False, "uses a dataset from outside")
    if any(operation.type in PYTHON_OPS for operation in operations):
        return FunctionTraits(False, False, False, "runs Python code")
    worst = PURE
    for operation in operations:
        traits = _operation_traits(operation)
        if _rank(traits) > _rank(worst):
            worst = traits
    return worst


def _rank(traits: FunctionTraits) -> int:
    return (not traits.is_pure) + 2 * (not traits.is_parallel) + 4 * (not traits.is_runnable)


def _operation_traits(operation: Any) -> FunctionTraits:
    kind = operation.type
    if operation.op_def is not None and not operation.op_def.is_stateful:
        return PURE
    if kind in _HARMLESS_OPS:
        return PURE
    if kind in _TABLE_OPS:
        return FunctionTraits(False, True, True, "looks up a table, which may change")
    if kind in _VARIABLE_OPS:
        return FunctionTraits(False, False, True, "reads a variable")
    seeds = [operation.get_attr(name) for name in ("seed", "seed2") if _has(operation, name)]
    if len(seeds) == 2:
        if not any(seeds):
            return FunctionTraits(False, True, True, "draws random numbers")
        return FunctionTraits(False, False, True, "draws random numbers with a seed, in order")
    return FunctionTraits(False, False, False, f"keeps state ({kind})")


def _has(operation: Any, name: str) -> bool:
    return any(attribute.name == name for attribute in operation.op_def.attr)
