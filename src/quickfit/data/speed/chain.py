"""The operations of a tf.data chain as they were written, read from the dataset object.

What is read here is not public in TensorFlow. Whatever is not there is left out: a stage then
has the name of its operation alone.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from quickfit.data.traced_functions import PYTHON_OPS, function_operations
from quickfit.pipeline_model.snapshot import Operation, operation_kind

# A chain longer than this is not followed to its end.
MAX_CHAIN = 500
_NUMBERS = ("_buffer_size", "_batch_size", "_count", "_num_shards", "_num_parallel_calls")
_FUNCTIONS = ("_map_func", "_predicate", "_scan_func", "_reduce_func", "_key_func")
# The functions that `from_generator` makes around the user's generator close over these names.
_GENERATOR_FUNCTION, _GENERATOR_STATE = "get_iterator_id_fn", "generator_state"
# Operations of which one element is a batch, and those that take batches apart.
_BATCHING = (
    *("batch", "paddedbatch", "rebatch", "legacyrebatch", "densetoragged", "densetosparse"),
    "groupbywindow",  # of which buckets by length are made
)
_UNBATCHING = ("unbatch", "window")
_MAKING = ("flatmap", "interleave")


def operations_of(dataset: Any) -> tuple[dict[int, Operation], int]:
    """Return the operations of a dataset, and the number of the last one."""
    found: dict[int, Operation] = {}
    numbers: dict[int, int] = {}
    kept: list[Any] = []  # so that no two objects have the same id
    top = _describe_operations(dataset, found, numbers, kept)
    return found, top


def _describe_operations(
    dataset: Any, found: dict[int, Operation], numbers: dict[int, int], kept: list[Any]
) -> int:
    if id(dataset) in numbers:
        return numbers[id(dataset)]
    number = numbers[id(dataset)] = len(numbers) + 1
    kept.append(dataset)
    below = _input_datasets(dataset) if len(numbers) < MAX_CHAIN else []
    inputs = tuple(_describe_operations(part, found, numbers, kept) for part in below)
    facts = _dataset_facts(dataset)
    file, line = facts.pop("file", None), facts.pop("line", None)
    found[number] = Operation(number, kind_of_dataset(dataset), file, line, inputs, facts)
    return number


def kind_of_dataset(dataset: Any) -> str:
    """Return the kind of the operation; a class made on top of TensorFlow's counts as that."""
    for base in type(dataset).__mro__:
        if base.__module__.startswith("tensorflow."):
            return operation_kind(base.__name__)
    return operation_kind(type(dataset).__name__)


def _input_datasets(dataset: Any) -> list[Any]:
    source = getattr(dataset, "_impl", dataset)  # a reader of files is made of others
    try:
        return list(source._inputs())
    except (AttributeError, NotImplementedError, TypeError):
        return []


def is_batched(operations: dict[int, Operation], top: int, spec: Any = None) -> bool | None:
    """Tell whether an element of the chain is a batch; None where the chain does not say.

    Args:
        operations: those of the chain.
        top: the number of the last one.
        spec: the types of an element. Behind a function that makes datasets, batches are still
            batches if all their lengths are open.
    """
    number: int | None = top
    is_made = False
    while number is not None and number in operations:
        operation = operations[number]
        if operation.kind in _BATCHING:
            return True if not is_made or _has_open_lengths(spec) else None
        if operation.kind in _UNBATCHING:
            return None if is_made else False
        is_made = is_made or operation.kind in _MAKING
        number = operation.inputs[0] if operation.inputs else None
    return None


def _has_open_lengths(spec: Any) -> bool:
    parts = spec.values() if isinstance(spec, dict) else spec
    if isinstance(parts, tuple | list) or isinstance(spec, dict):
        return bool(parts) and all(_has_open_lengths(part) for part in parts)
    shape = getattr(spec, "shape", None)
    return shape is not None and shape.rank is not None and shape.rank > 0 and shape[0] is None


def _dataset_facts(dataset: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name in _NUMBERS:
        value = _constant_number(getattr(dataset, name, None))
        if value is not None:
            facts[name.strip("_")] = value
    wrapper = next((getattr(dataset, n) for n in _FUNCTIONS if hasattr(dataset, n)), None)
    function = getattr(wrapper, "_func", None)
    if function is not None:
        facts |= function_facts(function) | _graph_facts(wrapper)
    return facts


def _constant_number(value: Any) -> int | None:
    tensor_util = sys.modules.get("tensorflow.python.framework.tensor_util")
    if tensor_util is None or value is None:
        return None
    try:
        known = tensor_util.constant_value(value) if hasattr(value, "dtype") else value
        return None if known is None else int(known)
    except (TypeError, ValueError):
        return None


def function_facts(function: Any) -> dict[str, Any]:
    """Return the name and place of a function, or of the generator behind it."""
    generator = _generator_of(function)
    if generator is not None:
        return {"from_generator": True, **function_name_facts(generator)}
    return function_name_facts(function)


def function_name_facts(function: Any) -> dict[str, Any]:
    """Return the name of a function, and where it was written if a user wrote it."""
    while not hasattr(function, "__name__") and hasattr(function, "func"):
        function = function.func  # of a partial
    facts: dict[str, Any] = {}
    facts["function"] = str(getattr(function, "__name__", type(function).__name__))
    facts["is_ours"] = str(getattr(function, "__module__", "")).startswith("quickfit.")
    code = getattr(function, "__code__", None)
    # Functions inside of TensorFlow, Keras and quickfit are no place that a user could change.
    if code is not None and not facts["is_ours"] and not _is_installed(code.co_filename):
        facts["file"], facts["line"] = code.co_filename, code.co_firstlineno
    return facts


def _generator_of(function: Any) -> Any:
    """Return the generator function that `from_generator` was given."""
    inner = _closed_over(function, _GENERATOR_FUNCTION)
    state = _closed_over(inner if inner is not None else function, _GENERATOR_STATE)
    return getattr(state, "_generator", None)


def _closed_over(function: Any, name: str) -> Any:
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    if name not in names:
        return None
    try:
        return function.__closure__[names.index(name)].cell_contents
    except ValueError:  # an empty cell
        return None


def _is_installed(file: str) -> bool:
    parts = file.split(os.sep)
    return "site-packages" in parts or "dist-packages" in parts or file.startswith("<")


def _graph_facts(wrapper: Any) -> dict[str, Any]:
    """Return whether a function runs Python, keeps state, or hands on what it is given."""
    operations = function_operations(wrapper)
    if operations is None:  # it was never traced
        return {}
    graph = wrapper.function.graph
    made = [_source_of(output) for output in graph.outputs]
    return {
        "runs_python": any(op.type in PYTHON_OPS for op in operations),
        "is_stateful": any(op.op_def.is_stateful for op in operations if op.op_def),
        "is_identity": made == [tensor.op for tensor in graph.inputs],
    }


def _source_of(tensor: Any) -> Any:
    operation = tensor.op
    while operation.type == "Identity" and operation.inputs:
        operation = operation.inputs[0].op
    return operation
