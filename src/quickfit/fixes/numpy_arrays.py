"""Tells whether an expression is certainly an array of NumPy, through functions and files."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.fixes.bindings import binders, dotted, imported, own_nodes, parameters, scope_of
from quickfit.fixes.frozen_layers import calls_of
from quickfit.fixes.graph_code import argument
from quickfit.fixes.script import Function, Script

_METHODS = {"astype", "reshape", "integers", "random", "normal", "uniform", "standard_normal"}
_METHODS |= {"permutation", "to_numpy"}
# Methods that give an array where they are asked of one.
_OWN_METHODS = {"sum", "mean", "max", "min", "clip", "squeeze", "argmax", "repeat", "transpose"}
_NOT_ARRAYS = {"numpy.load", "numpy.memmap", "numpy.random.default_rng", "numpy.lib.format"}
# Names are followed this far.
MAX_DEPTH = 8


def is_numpy(
    script: Script, value: ast.expr | None, scripts: Sequence[Script], depth: int = 0
) -> bool:
    """Tell whether an expression is an array in memory: no list, table, file or tensor."""
    if value is None or depth > MAX_DEPTH:
        return False
    if isinstance(value, ast.Name):
        return _is_numpy_name(script, value, scripts, depth)
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(is_numpy(script, side, scripts, depth + 1) for side in sides)
    if isinstance(value, ast.Subscript):
        is_rows = isinstance(value.slice, ast.Slice | ast.Tuple | ast.Name | ast.Compare)
        return is_rows and is_numpy(script, value.value, scripts, depth + 1)
    if not isinstance(value, ast.Call):
        return False
    path = imported(script, dotted(value.func))
    if path.startswith("numpy."):
        return path not in _NOT_ARRAYS
    is_other = path.startswith(("tensorflow.", "keras.", "torch.", "random."))
    if not isinstance(value.func, ast.Attribute) or is_other:
        return False
    if value.func.attr in _OWN_METHODS:
        return is_numpy(script, value.func.value, scripts, depth + 1)
    return value.func.attr in _METHODS


def _is_numpy_name(script: Script, name: ast.Name, scripts: Sequence[Script], depth: int) -> bool:
    scope = scope_of(script, name)
    found = binders(scope, name.id)
    if isinstance(scope, Function) and name.id in parameters(scope):
        return not found and _is_given(scope, name.id, scripts, depth)
    if not found and scope is not script.tree:
        found = binders(script.tree, name.id)
    return bool(found) and all(_is_bound(script, node, scripts, depth) for node in found)


def _is_given(function: Function, name: str, scripts: Sequence[Script], depth: int) -> bool:
    """Tell whether all calls give an array for a parameter."""
    same = [f for s in scripts for f in s.all(ast.FunctionDef) if f.name == function.name]
    calls = [(s, c) for s in scripts for c in calls_of(s, function.name)]
    values = [(s, argument(c, function, name)) for s, c in calls]
    is_known = len(same) == 1 and bool(values)
    return is_known and all(is_numpy(s, value, scripts, depth + 1) for s, value in values)


def _is_bound(script: Script, node: ast.AST, scripts: Sequence[Script], depth: int) -> bool:
    """Tell whether what binds a name gives it an array."""
    path: list[int] = []
    parent = script.parent(node)
    while isinstance(parent, ast.Tuple) and isinstance(node, ast.expr):
        path.insert(0, parent.elts.index(node))
        node, parent = parent, script.parent(parent)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    value: ast.expr = parent.value
    while path and isinstance(value, ast.Tuple) and path[0] < len(value.elts):
        value = value.elts[path.pop(0)]
    if not path:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return _is_returned(value, None, scripts, depth)
        return is_numpy(script, value, scripts, depth + 1)
    if not isinstance(value, ast.Call):
        return False
    is_keras = imported(script, dotted(value.func)).endswith(".load_data")
    if is_keras and "keras" in imported(script, dotted(value.func)):
        return len(path) == 2
    return len(path) == 1 and _is_returned(value, path[0], scripts, depth)


def _is_returned(call: ast.Call, place: int | None, scripts: Sequence[Script], depth: int) -> bool:
    """Tell whether a function of the project returns an array, all or at a place."""
    name = dotted(call.func).rpartition(".")[2]
    made = [(s, f) for s in scripts for f in s.all(ast.FunctionDef) if f.name == name]
    if len(made) != 1 or made[0][1].decorator_list:
        return False
    script, function = made[0]
    returned = [n.value for n in own_nodes(*function.body) if isinstance(n, ast.Return)]
    for value in returned:
        one = value
        if place is not None:
            is_tuple = isinstance(value, ast.Tuple) and place < len(value.elts)
            one = value.elts[place] if is_tuple else None  # type: ignore[union-attr]
        if not is_numpy(script, one, scripts, depth + 1):
            return False
    return bool(returned)
