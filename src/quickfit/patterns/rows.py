"""Tells whether an array that is given to a model holds a single row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.program import Module, Program, argument, name_of
from quickfit.program.bindings import Binding
from quickfit.program.module import FUNCTIONS
from quickfit.program.parameters import position_of

MAX_DEPTH = 8
# Calls that keep the number of rows of what they are given first, or are a method of.
_KEEPING = frozenset(
    (
        *("preprocess_input", "cast", "convert_to_tensor", "constant", "asarray", "array"),
        *("astype", "copy", "numpy", "float32", "pad_sequences", "vstack", "to_tensor"),
        *("convert_image_dtype", "ascontiguousarray", "divide", "abs", "clip"),
    )
)
# Calls that give one row for each element of the list that they are given.
_PER_ELEMENT = frozenset(
    (
        *("array", "asarray", "constant", "convert_to_tensor", "stack", "texts_to_sequences"),
        *("texts_to_matrix", "transform", "pad_sequences", "vstack"),
    )
)
_FILLED = frozenset(("zeros", "ones", "empty", "full", "normal", "rand", "randn", "uniform"))


def is_one_row(program: Program, module: Module, node: ast.expr, depth: int = MAX_DEPTH) -> bool:
    """Tell whether an expression is surely a single row, over names, helpers and files."""
    if depth == 0:
        return False
    if isinstance(node, ast.Name):
        found = list(_given(program, module, node))
        return bool(found) and all(
            value is not None and is_one_row(program, other, value, depth - 1)
            for other, value in found
        )
    if isinstance(node, ast.List | ast.Tuple):  # of several inputs
        return bool(node.elts) and all(
            is_one_row(program, module, part, depth - 1) for part in node.elts
        )
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(
            is_one_row(program, module, part, depth - 1) for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return any(is_one_row(program, module, p, depth - 1) for p in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return _is_row_index(node.slice)
    return isinstance(node, ast.Call) and _is_row_call(program, module, node, depth)


def _given(
    program: Program, module: Module, node: ast.Name
) -> Iterator[tuple[Module, ast.expr | None]]:
    """Yield the expressions that a name may stand for; None for what is not one."""
    for binding in program.files.bindings(module).reaching(node, node.id):
        if binding.kind == "parameter":
            yield from _arguments(program, module, binding)
        elif isinstance(binding.node, ast.AugAssign):  # `x /= 255` keeps the rows
            target = binding.node.target
            if isinstance(target, ast.Name):
                yield from _given(program, module, target)
        else:
            is_whole = binding.kind == "value" and not binding.path
            yield module, binding.value if is_whole and _is_assigned(binding) else None


def _is_assigned(binding: Binding) -> bool:
    return isinstance(binding.node, ast.Assign | ast.AnnAssign | ast.NamedExpr)


def _arguments(
    program: Program, module: Module, binding: Binding
) -> Iterator[tuple[Module, ast.expr | None]]:
    function = module.around(binding.node, *FUNCTIONS)
    if not isinstance(function, FUNCTIONS):
        return
    at = position_of(module, function, binding.name)
    for other, call in program.resolver.callers(module, function):
        yield other, argument(call, binding.name, at)


def _is_row_index(index: ast.expr) -> bool:
    """Tell whether an index gives one row: `[None]`, `[i : i + 1]`, `[[i]]`."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.Constant):
        return first.value is None
    if isinstance(first, ast.List):
        return len(first.elts) == 1
    if not isinstance(first, ast.Slice) or first.step is not None or first.upper is None:
        return name_of(first) == "newaxis"
    if first.lower is None:
        return isinstance(first.upper, ast.Constant) and first.upper.value == 1
    return ast.unparse(first.upper) == f"{ast.unparse(first.lower)} + 1"


def _is_row_call(program: Program, module: Module, call: ast.Call, depth: int) -> bool:
    name = name_of(call.func)
    is_method = isinstance(call.func, ast.Attribute) and not program.called(module, call)
    first = call.args[0] if call.args else None
    if name == "expand_dims":
        return program.literal(module, argument(call, "axis", 1)) == 0
    if name == "reshape":
        shape = first if is_method else argument(call, "newshape", 1) or argument(call, "shape", 1)
        return _begins_with_one(program, module, shape)
    if name in _FILLED:
        size = argument(call, "size", 2) or argument(call, "shape", 0) or first
        return _begins_with_one(program, module, size)
    if name in _PER_ELEMENT and isinstance(first, ast.List):
        return len(first.elts) == 1 and not isinstance(first.elts[0], ast.Starred)
    if name not in _KEEPING:
        return False
    kept = call.func.value if is_method and isinstance(call.func, ast.Attribute) else first
    candidates = [part for part in (kept, first) if part is not None]
    return any(is_one_row(program, module, part, depth - 1) for part in candidates)


def _begins_with_one(program: Program, module: Module, shape: ast.expr | None) -> bool:
    if isinstance(shape, ast.Tuple | ast.List) and shape.elts:
        return len(shape.elts) > 1 and program.literal(module, shape.elts[0]) == 1
    return isinstance(shape, ast.Constant) and shape.value == 1
