"""Which argument of a call is which parameter of a function, and what a class gives its objects."""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from quickfit.program.module import Function, Module
from quickfit.program.values import Class


def default_of(function: Function, name: str) -> ast.expr | None:
    """Return the default of a parameter."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    for arg, default in zip(reversed(plain), reversed(given.defaults), strict=False):
        if arg.arg == name:
            return default
    for arg, keyword_default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if arg.arg == name:
            return keyword_default
    return None


def position_of(module: Module, function: Function, name: str) -> int:
    """Return at which position a call gives a parameter; -1 for one that has only a name."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    is_method = isinstance(module.parents.get(function), ast.ClassDef) and not is_static(function)
    offset = 1 if is_method else 0
    return names.index(name) - offset if name in names else -1


def is_static(function: Function) -> bool:
    """Tell whether a method takes no object."""
    decorators = getattr(function, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)


def is_first(function: Function, name: str) -> bool:
    """Tell whether a parameter is the object or class of a method."""
    plain = [*function.args.posonlyargs, *function.args.args]
    return bool(plain) and plain[0].arg == name and not is_static(function)


def is_index(index: object, elements: list[ast.expr]) -> bool:
    """Tell whether an index picks one of these elements."""
    if type(index) is not int or any(isinstance(e, ast.Starred) for e in elements):
        return False
    return -len(elements) <= index < len(elements)


def assigned_to_self(owner: Class, name: str) -> list[ast.expr]:
    """Return what the methods of a class assign to `self.name`."""
    if owner.node not in _assigned:
        _assigned[owner.node] = _all_assigned(owner.node)
    return list(_assigned[owner.node].get(name, ()))


# A class is asked for its attributes again and again, and is walked through once.
_assigned: WeakKeyDictionary[ast.ClassDef, dict[str, list[ast.expr]]] = WeakKeyDictionary()


def _all_assigned(node: ast.ClassDef) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for name, value in (pair for t in targets for pair in _to_self(t, part.value)):
                found.setdefault(name, []).append(value)
    return found


def _to_self(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return the attributes that an assignment sets, also `self.x, self.y = x, y`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        if len(target.elts) != len(value.elts):
            return []
        pairs = zip(target.elts, value.elts, strict=True)
        return [found for t, v in pairs for found in _to_self(t, v)]
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return []
    return [(target.attr, value)] if target.value.id in ("self", "cls") else []
