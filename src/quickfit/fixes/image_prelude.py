"""Judges the statements in front of a generator's loops: what may stay there as it is."""

from __future__ import annotations

import ast

from quickfit.fixes.image_values import NotRecognisedError, code

# Calls that give the same each time as long as the files are the same, and change nothing else.
_HARMLESS = {"len", "list", "sorted", "range", "zip", "enumerate", "str", "int", "float", "tuple"}
_HARMLESS |= {"dict", "set", "min", "max", "sum", "array", "asarray", "arange", "zeros", "eye"}
_HARMLESS |= {"glob", "rglob", "listdir", "iterdir", "join", "basename", "dirname", "splitext"}
_HARMLESS |= {"Path", "isdir", "isfile", "is_dir", "is_file", "exists", "split", "rsplit", "strip"}
_HARMLESS |= {"startswith", "endswith", "lower", "upper", "replace", "index", "get", "format"}
_HARMLESS |= {"read_csv", "reader", "DictReader", "ceil", "floor", "unique", "items", "keys"}
_HARMLESS |= {"values", "tolist", "print"}
# Methods that fill a list; harmless where the list is made in the same place.
_FILLS = {"append", "extend"}
_KEPT = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert, ast.For, ast.If, ast.With)
_NEVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.Return, ast.Break, ast.Try, ast.NamedExpr)


def check_kept(statement: ast.stmt) -> None:
    """Make sure that a statement may run when the dataset is made, and not with its first batch.

    Raises:
        NotRecognisedError: where it gives a batch, or ends the generator.
    """
    if not isinstance(statement, _KEPT):
        raise NotRecognisedError
    if any(isinstance(n, (*_NEVER, ast.Global, ast.Nonlocal)) for n in ast.walk(statement)):
        raise NotRecognisedError


def is_harmless(statement: ast.stmt, own: set[str]) -> bool:
    """Tell whether a statement gives the same each time it runs, and changes nothing else.

    `own` are the names that statements before it have made.
    """
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else code(node.func)
            base = code(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if name not in _HARMLESS and not (name in _FILLS and base in own):
                return False
            if ".random" in code(node.func) or "rng" in base:
                return False
        is_part = isinstance(node, ast.Attribute | ast.Subscript)
        if is_part and not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            return False
    return True


def stored(statements: list[ast.stmt]) -> set[str]:
    """Return the names that statements give a value."""
    nodes = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
    return {n.id for n in nodes if isinstance(n.ctx, ast.Store)}


def filled(statements: list[ast.stmt]) -> set[str]:
    """Return the names of lists that statements put something into."""
    found = set()
    for node in (n for s in statements for n in ast.walk(s)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {code(node.func.value)} if node.func.attr in _FILLS else set()
        if isinstance(node, ast.AugAssign):
            found.add(code(node.target))
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found.add(code(node.value))
    return found


def first_loop(body: list[ast.stmt]) -> int:
    """Return the place of the loop that gives batches or items."""
    for at, statement in enumerate(body):
        if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(statement)):
            if not isinstance(statement, ast.For | ast.While):
                raise NotRecognisedError
            return at
    raise NotRecognisedError
