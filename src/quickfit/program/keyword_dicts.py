"""What a call is given with `**options`, where the program shows all that is in it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.program import Module, Program, name_of
from quickfit.program.values import Group, Made

Place = tuple[Module, ast.expr]
MAX_DEPTH = 4
# Change what a dictionary has in it.
_CHANGING = frozenset(("update", "pop", "popitem", "setdefault", "clear", "__setitem__"))
# Read a dictionary that they are given.
_READING = frozenset(("print", "pprint", "len", "dict", "str", "repr", "sorted", "list", "tuple"))


def unpacked(program: Program, module: Module, call: ast.Call) -> dict[str, Place] | None:
    """Return what a call gets by `**options`, by its names; None where more may be in it.

    Empty where the text of the call shows everything.
    """
    if any(isinstance(given, ast.Starred) for given in call.args):
        return None
    dicts = [(k.arg, k.value) for k in call.keywords if k.arg is None]
    return _joined(program, module, dicts, MAX_DEPTH)


def _joined(
    program: Program,
    module: Module,
    parts: Sequence[tuple[str | None, ast.expr]],
    depth: int,
) -> dict[str, Place] | None:
    """Return the items of a dictionary: by their keys, or None for another one spread in it."""
    found: dict[str, Place] = {}
    for key, value in parts:
        inner: dict[str, Place] | None = {key: (module, value)} if key is not None else None
        if key is None:
            inner = _items(program, module, value, depth)
        if inner is None:
            return None
        found |= inner
    return found


def _items(program: Program, module: Module, node: ast.expr, depth: int) -> dict[str, Place] | None:
    """Return what a dictionary surely has in it, and nothing else."""
    only = program.only(module, node) if depth else None
    if not isinstance(only, Made | Group) or _is_changed(module, node):
        return None
    if any(_is_changed(only.module, target) for target in _targets(only)):
        return None
    parts = _written(only)
    return _joined(program, only.module, parts, depth - 1) if parts is not None else None


def _written(value: Made | Group) -> list[tuple[str | None, ast.expr]] | None:
    """Return the items as they are written: `{"a": 1, **more}` or `dict(more, a=1)`."""
    if isinstance(value, Made):
        if value.maker != "builtins.dict" or len(value.call.args) > 1:
            return None
        given = [(k.arg, k.value) for k in value.call.keywords]
        return [*((None, each) for each in value.call.args), *given]
    if not isinstance(value.node, ast.Dict):
        return None
    found: list[tuple[str | None, ast.expr]] = []
    for key, item in zip(value.node.keys, value.node.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if key is not None and not isinstance(name, str):
            return None
        found.append((name if isinstance(name, str) else None, item))
    return found


def _targets(value: Made | Group) -> list[ast.expr]:
    """Return what a dictionary is called where it is made."""
    node = value.call if isinstance(value, Made) else value.node
    statement = value.module.parent(node)
    if isinstance(statement, ast.AnnAssign):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []


def _is_changed(module: Module, node: ast.expr, depth: int = MAX_DEPTH) -> bool:
    """Tell whether a file may change what is called alike, itself or through a function."""
    name = name_of(node)
    if not name or depth == 0:
        return depth == 0
    alike = [n for n in module.all(ast.Name, ast.Attribute) if name_of(n) == name]
    return any(_changes(module, each, depth) for each in alike)


def _changes(module: Module, node: ast.AST, depth: int) -> bool:
    above = module.parent(node)
    if isinstance(above, ast.Subscript) and above.value is node:
        return not isinstance(above.ctx, ast.Load)
    if isinstance(above, ast.Attribute) and above.value is node:
        return above.attr in _CHANGING and isinstance(module.parent(above), ast.Call)
    if isinstance(above, ast.AugAssign):
        return above.target is node
    if isinstance(above, ast.Assign) and above.value is node:
        # It has a second name from here on.
        others = [t for t in above.targets if name_of(t) != name_of(node)]
        return any(_is_changed(module, target, depth - 1) for target in others)
    if isinstance(above, ast.keyword):
        return above.arg is not None and not _reads(module.parent(above))
    # A function that is given the dictionary itself may do anything with it.
    return isinstance(above, ast.Call) and node in above.args and not _reads(above)


def _reads(call: ast.AST | None) -> bool:
    return isinstance(call, ast.Call) and name_of(call.func) in _READING
