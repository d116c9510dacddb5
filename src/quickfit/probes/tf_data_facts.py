"""What one dataset operation is given: its numbers, its function, and what that function does."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from quickfit.probes._generated import Converted, place_of_inner
from quickfit.probes._places import Place, is_user_file, place_of_function
from quickfit.probes._state import State
from quickfit.probes.tf_data_images import image_sizes, place_of_operation, shrinks_of

_NUMBERS = (
    *("_buffer_size", "_batch_size", "_num_parallel_calls", "_num_parallel_reads"),
    *("_cycle_length", "_block_length", "_count", "_num_shards"),
)
# The first that a dataset has is the one the user gave, or calls the one they gave.
_FUNCTIONS = ("_map_func", "_predicate", "_scan_func", "_reduce_func", "_key_func", "_next_func")
# Facts that most operations do not have.
_RARE = {"image_sizes", "shrinks", "python_place"}
_PYTHON_OPS = {"EagerPyFunc", "PyFunc", "PyFuncStateless"}
_DATA_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "")
MAX_OPS = 60
# Functions looked into that a function calls, or takes as a branch of a condition or loop.
MAX_INNER = 50


def facts_of(dataset: Any, state: State, inside: Converted | None) -> dict[str, Any]:
    """Return what a dataset operation is given.

    Args:
        dataset: the operation.
        state: what the probes know.
        inside: the function that made the dataset, if AutoGraph wrote that anew.
    """
    facts: dict[str, Any] = {}
    for name in _NUMBERS:
        value = _number(getattr(dataset, name, None))
        if value is not None:
            facts[name.strip("_")] = value
    wrapper = function_wrapper(dataset)
    if wrapper is not None:
        facts.update(_graph_facts(wrapper))
        facts.update(_function_facts(wrapper, state, inside))
        for placed in (*(facts.get("shrinks") or ()), facts.get("python_place") or {}):
            if "file" in placed:
                state.source(Place(placed["file"], placed["line"], ""))
    with contextlib.suppress(Exception):  # an unknown element type has no size
        facts["element_bytes"] = _element_bytes(dataset.element_spec)
    if not is_in_function(dataset):  # there it would be one more operation of the user's graph
        with contextlib.suppress(Exception):
            facts["cardinality"] = int(dataset.cardinality().numpy())
        with contextlib.suppress(Exception):  # files that cannot be read, a tensor that is gone
            facts["image_sizes"] = image_sizes(dataset) or None
    return {name: value for name, value in facts.items() if value is not None or name not in _RARE}


def is_in_function(dataset: Any) -> bool:
    """Tell whether a dataset was made while a function was traced."""
    return type(dataset._graph_attr).__name__.endswith("FuncGraph")


def function_wrapper(dataset: Any) -> Any:
    """Return what tf.data made of the function that a dataset was given, or None."""
    for name in _FUNCTIONS:
        wrapper = getattr(dataset, name, None)
        if hasattr(wrapper, "_func"):
            return wrapper
    return None


def _number(value: Any) -> int | None:
    if value is None or isinstance(value, bool):
        return None
    with contextlib.suppress(Exception):  # a value that is computed while the pipeline runs
        if hasattr(value, "op") and not hasattr(value, "numpy"):
            value = sys.modules["tensorflow.python.framework.tensor_util"].constant_value(value)
        return int(value.numpy() if hasattr(value, "numpy") else value)
    return None


def _function_facts(wrapper: Any, state: State, inside: Converted | None) -> dict[str, Any]:
    function = _generator_of(wrapper._func) or wrapper._func
    facts: dict[str, Any] = {"function": _name(function)}
    place = _written_by_user(function, inside)
    if place is not None:
        state.source(place)
        facts["function_file"], facts["function_line"] = place.file, place.line
    elif _is_of_quickfit(function):
        # Of `quickfit.data`: Python is called there for rare files, or works in other processes.
        facts["runs_python"] = False
    return facts


def _is_of_quickfit(function: Any) -> bool:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.startswith(_DATA_FOLDER)


def _generator_of(function: Any) -> Any:
    """Return the generator that `from_generator` was given, from the function made of it."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    if "generator_state" not in names:
        return None
    with contextlib.suppress(ValueError):  # an empty cell
        state = function.__closure__[names.index("generator_state")].cell_contents
        return getattr(state, "_generator", None)
    return None


def _name(function: Any) -> str:
    for _ in range(20):
        if hasattr(function, "__name__"):
            break
        if not hasattr(function, "func"):
            return type(function).__name__
        function = function.func  # of a partial
    return str(function.__name__)


def _written_by_user(function: Any, inside: Converted | None) -> Place | None:
    """Return where the user wrote a function; of a Keras layer, its `call`."""
    for candidate in (function, getattr(function, "call", None)):
        place = place_of_function(candidate) if candidate is not None else None
        if place is not None and is_user_file(place.file):
            return place
    code = getattr(function, "__code__", None)
    return place_of_inner(code, inside) if inside is not None and code is not None else None


def _graph_facts(wrapper: Any) -> dict[str, Any]:
    """Return whether a function runs Python, keeps state, or hands on what it is given."""
    facts: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # a function that was never traced
        graph = wrapper.function.graph
        operations = [op for part in _with_inner(graph) for op in part.get_operations()]
        facts["runs_python"] = any(op.type in _PYTHON_OPS for op in operations)
        facts["is_stateful"] = any(op.op_def.is_stateful for op in operations if op.op_def)
        facts["ops"] = sorted({op.type for op in operations})[:MAX_OPS]
        made = [source_of(output) for output in graph.outputs]
        facts["is_identity"] = made == [tensor.op for tensor in graph.inputs]
        facts["shrinks"] = shrinks_of(operations, graph.outputs) or None
        facts["python_place"] = _python_place(operations)
    return facts


def _python_place(operations: list[Any]) -> dict[str, Any] | None:
    """Return the line that calls into Python, such as that of a `tf.py_function`."""
    calls = [operation for operation in operations if operation.type in _PYTHON_OPS]
    return (place_of_operation(calls[0]) or None) if calls else None


def _with_inner(graph: Any) -> list[Any]:
    """Return a graph and those of the functions it calls, of its conditions and its loops."""
    named = getattr(graph, "_functions", None) or {}
    inner = [getattr(function, "graph", None) for function in list(named.values())[:MAX_INNER]]
    return [graph, *(part for part in inner if part is not None)]


def source_of(tensor: Any) -> Any:
    """Return the graph operation that made a tensor, behind those that only hand it on."""
    operation = tensor.op
    while operation.type == "Identity" and operation.inputs:
        operation = operation.inputs[0].op
    return operation


def _element_bytes(spec: Any) -> int | None:
    """Return the size of one element when its shape and types say it."""
    parts = spec.values() if isinstance(spec, dict) else spec
    if isinstance(parts, tuple | list) or isinstance(spec, dict):
        sizes = [_element_bytes(part) for part in parts]
        return None if any(size is None for size in sizes) else sum(s for s in sizes if s)
    count = spec.shape.num_elements()
    return None if count is None or spec.dtype.size == 0 else int(count * spec.dtype.size)
