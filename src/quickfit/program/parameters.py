"""Which argument of a call is which parameter of a function, and what a class gives its objects."""

from __future__ import annotations

import ast

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
    found: list[ast.expr] = []
    for node in ast.walk(owner.node):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [node.value for target in targets if _is_of_self(target, name)]
    return found


def _is_of_self(target: ast.expr, name: str) -> bool:
    if not isinstance(target, ast.Attribute) or target.attr != name:
        return False
    return isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")
