"""Tells whether code may change an array in place, also through another name for a part of it."""

from __future__ import annotations

import ast

from quickfit.fixes.bindings import Loop, reads, writes
from quickfit.fixes.lookup import called
from quickfit.fixes.script import Script

# Functions and methods whose result shares no memory with what they are given.
_FRESH = {"copy", "deepcopy", "array", "len", "int", "float", "str", "zeros", "ones", "empty"}
_FRESH |= {"full", "zeros_like", "ones_like", "empty_like", "full_like", "range", "arange"}
_FRESH |= {"predict", "fit", "evaluate", "argmax", "argmin", "mean", "sum", "std", "max", "min"}
_FRESH |= {"stack", "concatenate", "vstack", "hstack", "bincount", "unique", "permutation"}


def changes_in_place(script: Script, loop: Loop, arrays: set[str]) -> bool:
    """Tell whether a loop may write into arrays of these names, or into views of them."""
    views = _views(script, arrays)
    return any(_written(node) & views for statement in loop.body for node in ast.walk(statement))


def _views(script: Script, arrays: set[str]) -> set[str]:
    """Return names that may share memory with arrays, by any assignment or loop of the file."""
    pairs = [pair for node in ast.walk(script.tree) for pair in _bound(node)]
    views, before = set(arrays), set[str]()
    while views != before:
        before = set(views)
        for target, value in pairs:
            if not _is_fresh(value) and reads(value) & views:
                views |= writes(target)
    return views


def _bound(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.For):
        return [(node.target, node.iter)]
    if isinstance(node, ast.NamedExpr) or (isinstance(node, ast.AnnAssign) and node.value):
        return [(node.target, node.value)]  # type: ignore[list-item]
    if not isinstance(node, ast.Assign):
        return []
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for target in node.targets:
        parts = (target, node.value)
        if all(isinstance(part, ast.Tuple) for part in parts):
            pairs += zip(target.elts, node.value.elts, strict=False)  # type: ignore[attr-defined]
        else:
            pairs.append(parts)
    return pairs


def _is_fresh(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return called(value) in _FRESH
    return isinstance(value, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Constant)


def _written(node: ast.AST) -> set[str]:
    """Return the name of what a node writes into: `x[0] = 1`, `x += 1` or `x.flags = ...`."""
    target = node.target if isinstance(node, ast.AugAssign) else node
    is_part = isinstance(target, ast.Subscript | ast.Attribute)
    is_stored = is_part and not isinstance(target.ctx, ast.Load)  # type: ignore[attr-defined]
    if not isinstance(node, ast.AugAssign) and not is_stored:
        return set()
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return {target.id} if isinstance(target, ast.Name) else set()
