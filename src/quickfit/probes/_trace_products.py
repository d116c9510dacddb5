"""Says in which precision the matrix products of a traced function are computed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from quickfit.probes._places import Place, is_user_file
from quickfit.probes._state import State

# What takes the time of a model: products, convolutions, and loops such as those of an LSTM.
_PRODUCTS = frozenset(
    (
        *("MatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum", "While", "StatelessWhile"),
        *("Conv2D", "Conv3D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
        *("Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", "DepthwiseConv2dNative"),
        *("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"),
    )
)
_FLOATS = frozenset(("float64", "float32", "float16", "bfloat16"))
# Files of the script that are kept to look for the line that asks for double precision.
MAX_FILES = 30


def products(graph: Any) -> tuple[int, int]:
    """Return how many products of a graph are in double precision, and how many there are."""
    if not hasattr(graph, "get_operations"):
        return 0, 0
    doubles = total = 0
    for operation in graph.get_operations():
        if operation.type in _PRODUCTS:
            # A loop carries counters and lists as well; only its floats tell.
            types = {output.dtype.name for output in operation.outputs} & _FLOATS
            total += bool(types)
            doubles += "float64" in types
    return doubles, total


def keep_files(state: State) -> None:
    """Keep the text of the script's own modules, once: one of them made the doubles."""
    if "files of doubles" in state.kept:
        return
    state.kept["files of doubles"] = True
    for file in sorted(_user_files(list(sys.modules.values())))[:MAX_FILES]:
        state.source(Place(file, 1, ""))


def _user_files(modules: Iterable[Any]) -> set[str]:
    found = set()
    for module in modules:
        # Not by `getattr`: a lazy module would be loaded by it.
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and file.endswith(".py") and is_user_file(file):
            found.add(file)
    return found
