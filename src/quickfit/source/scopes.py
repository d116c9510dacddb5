"""Says what belongs to a line of a text: the loop or function around it, and what that calls."""

from __future__ import annotations

import ast

from quickfit.source.calls import _name, parsed

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_run_often(text: str, line: int) -> bool:
    """Tell whether a loop or a function is around a line: then it may run more than once."""
    return _innermost(text, line) is not None


def calls_around(text: str, line: int) -> set[str]:
    """Return the names of what the innermost loop or function around a line calls."""
    scope = _innermost(text, line)
    nodes = ast.walk(scope) if scope is not None else ()
    return {_name(node) for node in nodes if isinstance(node, ast.Call)}


def last_line(text: str, line: int) -> int:
    """Return the last line of the loop that begins at a line; the line itself without one."""
    tree = parsed(text)
    nodes = ast.walk(tree) if tree is not None else ()
    ends = [n.end_lineno or 0 for n in nodes if isinstance(n, _LOOPS) and n.lineno == line]
    return max(ends, default=line)


def is_in_one_function(text: str, line: int, other: int) -> bool:
    """Tell whether two lines are in the same function, or both in none."""
    return _function(text, line) == _function(text, other)


def _function(text: str, line: int) -> int:
    tree = parsed(text)
    nodes = ast.walk(tree) if tree is not None else ()
    around = [n for n in nodes if isinstance(n, _FUNCTIONS)]
    begins = [n.lineno for n in around if n.lineno <= line <= (n.end_lineno or 0)]
    return max(begins, default=0)


def _innermost(text: str, line: int) -> ast.stmt | None:
    tree = parsed(text)
    nodes = ast.walk(tree) if tree is not None else ()
    around = [
        node
        for node in nodes
        if isinstance(node, (*_LOOPS, *_FUNCTIONS))
        and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno, default=None)
