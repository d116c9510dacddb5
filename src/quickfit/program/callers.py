"""Finds the calls of a function, in its own file and in those that mention it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from quickfit.program.module import Function, Module
from quickfit.program.values import Class, Routine

if TYPE_CHECKING:
    from quickfit.program.resolver import Resolver

# A function of a large program is called from hundreds of places; these tell enough.
MAX_LOOKED_AT = 60


def callers(
    resolver: Resolver, module: Module, function: Function
) -> list[tuple[Module, ast.Call]]:
    """Return the calls of a function that the program is seen to make, not those by itself."""
    name = _called_name(module, function)
    if not name or name.startswith("__"):
        return []
    # Who calls a function of another file has to import that file.
    places = [module, *resolver.files.mentioning(name, module.path, _import_name(module))]
    calls = [(m, c) for m in places for c in m.calls(name) if not m.is_in(c, function)]
    return [(m, c) for m, c in calls[:MAX_LOOKED_AT] if _means(resolver, m, c, function)]


def _import_name(module: Module) -> str:
    path = Path(module.path)
    return path.parent.name if path.stem == "__init__" else path.stem


def _called_name(module: Module, function: Function) -> str:
    owner = module.parents.get(function)
    if isinstance(function, ast.Lambda):
        assigned = isinstance(owner, ast.Assign) and len(owner.targets) == 1
        target = owner.targets[0] if assigned and isinstance(owner, ast.Assign) else None
        return target.id if isinstance(target, ast.Name) else ""
    if function.name == "__init__" and isinstance(owner, ast.ClassDef):
        return owner.name
    return function.name


def _means(resolver: Resolver, module: Module, call: ast.Call, function: Function) -> bool:
    """Tell whether a call may be one of this function, or of the class that it initialises."""
    for value in resolver.meaning(module, call.func):
        if isinstance(value, Routine) and value.node is function:
            return True
        made = resolver.attribute(value, "__init__") if isinstance(value, Class) else ()
        if any(isinstance(m, Routine) and m.node is function for m in made):
            return True
    return False
