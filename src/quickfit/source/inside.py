"""Finds a call inside a function of a script's text."""

from __future__ import annotations

import ast

from quickfit.source.calls import _name, parsed


def call_in(text: str, first_line: int, name: str) -> ast.Call | None:
    """Return the only call of a name in the function that begins at a line.

    A function may leave the call to another one: then the only such call of the text.
    """
    tree = parsed(text)
    if tree is None:
        return None
    functions = [node for node in ast.walk(tree) if _begins(node, first_line)]
    for part in (*functions, tree):
        calls = [node for node in ast.walk(part) if _is_call(node, name)]
        if calls:
            only = calls[0]
            return only if len(calls) == 1 and isinstance(only, ast.Call) else None
    return None


def call_line(text: str, line: int, word: str) -> int:
    """Return the line on which the call at a line stands whose name has a word in it."""
    tree = parsed(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
    spanning = [c for c in calls if c.lineno <= line <= (c.end_lineno or 0) and word in _name(c)]
    return max((call.func.end_lineno or line for call in spanning), default=line)


def _begins(node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list))
    return isinstance(node, ast.Lambda) and node.lineno == line


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and _name(node) == name
