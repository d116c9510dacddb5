"""Tells whether a line of a text belongs to a generator."""

from __future__ import annotations

import ast

from quickfit.source.calls import parsed

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_in_generator(text: str, line: int) -> bool:
    """Tell whether the innermost function around a line yields."""
    tree = parsed(text)
    nodes = ast.walk(tree) if tree is not None else ()
    around = [
        node
        for node in nodes
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    return innermost is not None and any(_is_yield(node) for node in _own_nodes(innermost))


def _is_yield(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom)


def _own_nodes(function: ast.AST) -> list[ast.AST]:
    """Return what a function consists of, without the functions inside it."""
    found: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
    return found
