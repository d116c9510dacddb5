"""Finds the line that builds the model which a line trains."""

from __future__ import annotations

import ast

from quickfit.source.calls import parsed

_SCOPES = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A model is handed from one function to another once; further than that nobody follows.
MAX_DEPTH = 1


def line_that_builds(text: str, line: int, method: str = "fit") -> int | None:
    """Return the line of the loop or function around `model.fit(...)` that gives `model` its value.

    None where the name is given a value outside of it: then it is one model all along.
    """
    tree = parsed(text)
    name = _receiver(tree, line, method) if tree is not None else None
    if tree is None or name is None:
        return None
    return _nearest(tree, line, name, depth=0)


def _nearest(tree: ast.Module, line: int, name: str, *, depth: int) -> int | None:
    scopes = [n for n in ast.walk(tree) if isinstance(n, _SCOPES) and _holds(n, line)]
    # From the inside out: the nearest scope that builds it is meant.
    for scope in sorted(scopes, key=lambda node: -node.lineno):
        lines = [n.lineno for n in _giving(scope, name) if n.lineno <= line]
        if lines:
            return max(lines)
        if isinstance(scope, _FUNCTIONS) and name in _arguments(scope):
            place = _arguments(scope).index(name)
            return _of_caller(tree, scope.name, name, place) if depth < MAX_DEPTH else None
    return None


def _of_caller(tree: ast.Module, function: str, name: str, place: int) -> int | None:
    """Return the line that builds what the only call of a function hands over."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _calls(n, function)]
    given = [value for call in calls if (value := _given(call, name, place)) is not None]
    if len(given) != 1:
        return None
    if isinstance(given[0], ast.Call):
        return given[0].lineno
    return _nearest(tree, given[0].lineno, ast.unparse(given[0]), depth=1)


def _calls(call: ast.Call, function: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == function


def _given(call: ast.Call, name: str, place: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place < len(call.args) else None


def _arguments(scope: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [arg.arg for arg in (*scope.args.posonlyargs, *scope.args.args)]


def _receiver(tree: ast.Module, line: int, method: str) -> str | None:
    """Return what stands before `.fit` on a line: `model`, or `self.model`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on_line = node.lineno <= line <= (node.end_lineno or node.lineno)
            if on_line and node.func.attr == method:
                return ast.unparse(node.func.value)
    return None


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _giving(scope: ast.AST, name: str) -> list[ast.stmt]:
    """Return the statements that give a name the result of a call."""
    found: list[ast.stmt] = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target) == name for target in targets):
                found.append(node)
    return found
