"""Finds the clause that catches an exception, in the text of the function that was running."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator

from quickfit.standard import standard

# A file longer than this is not looked through: it would stop the script for too long.
MAX_CHARACTERS = 400_000
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# Other names of one class.
_SAME = {"IOError": "OSError", "EnvironmentError": "OSError", "WindowsError": "OSError"}


def catching_line(file: str, line: int, names: tuple[str, ...]) -> int | None:
    """Return the line of the `except` or `suppress` that caught what a line raised.

    Args:
        line: the one in the function that caught it, inside its `try`.
        names: of the exception's class and all its bases.
    """
    tree = _parsed(file)
    around: list[ast.AST] = []
    for node in _path(tree, line) if tree is not None else ():
        around = [] if isinstance(node, _SCOPES) else [*around, node]
    clauses = [clause for node in reversed(around) for clause in _clauses(node, line)]
    certain = (at for at, types in clauses if any(_catches(part, names) for part in types))
    # A name that is no class of Python's may stand for several.
    possible = (at for at, types in clauses if any(_catches(part, names) is None for part in types))
    return next(certain, next(possible, None))


@functools.lru_cache(maxsize=8)
def _parsed(file: str) -> ast.Module | None:
    # It also knows what was typed into a notebook.
    text = "".join(standard("linecache").getlines(file))
    try:
        return ast.parse(text) if 0 < len(text) <= MAX_CHARACTERS else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _path(tree: ast.AST, line: int) -> Iterator[ast.AST]:
    """Yield the nodes around a line, the outermost first."""
    node: ast.AST | None = tree
    while node is not None:
        yield node
        node = next((child for child in _children(node) if _covers(child, line)), None)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        # Some nodes, such as the clauses of a `match`, have no place of their own.
        yield from [child] if hasattr(child, "end_lineno") else _children(child)


def _covers(node: ast.AST, line: int) -> bool:
    return bool(node.lineno <= line <= node.end_lineno)  # type: ignore[attr-defined]


def _clauses(node: ast.AST, line: int) -> Iterator[tuple[int, list[ast.expr | None]]]:
    """Yield the lines of the clauses around a line, and the classes that they catch."""
    if isinstance(node, ast.With | ast.AsyncWith):
        for call in (item.context_expr for item in node.items):
            if isinstance(call, ast.Call) and _name(call.func) == "suppress":
                yield node.lineno, list(call.args)
    elif isinstance(node, ast.Try | ast.TryStar) and any(_covers(part, line) for part in node.body):
        for handler in node.handlers:
            kinds = handler.type
            yield handler.lineno, list(kinds.elts) if isinstance(kinds, ast.Tuple) else [kinds]


def _catches(node: ast.expr | None, names: tuple[str, ...]) -> bool | None:
    """Tell whether a clause for this expression catches a class; None if it may."""
    if node is None:
        return True
    name = _name(node)
    name = _SAME.get(name, name)
    return True if name in names else False if hasattr(builtins, name) else None


def _name(node: ast.expr) -> str:
    """Return the last part of a dotted name; nothing for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
