"""Which calls of `fit`, `evaluate` and `predict` a dataset is given to, also in other files."""

from __future__ import annotations

import ast

from quickfit.program import Module, Program
from quickfit.program.datasets import chains
from quickfit.program.fitting import Feed, feeds, fittings

MAX_DEPTH, MAX_FILES = 3, 20


def consumers(program: Program, module: Module, call: ast.Call) -> list[Feed]:
    """Return what is fed with a dataset that has been through a call, as far as it is seen."""
    found: list[Feed] = []
    for place in _places(program, module, call, MAX_DEPTH)[:MAX_FILES]:
        for fitting in fittings(program, place):
            found += [f for f in feeds(fitting) if _passed(program, f, module, call)]
    return found


def _places(program: Program, module: Module, call: ast.Call, depth: int) -> list[Module]:
    """Return the files that may hold what a call gives."""
    function, found = module.function(call), [module]
    if function is None:
        statement = module.statement(call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                found += program.files.mentioning(target.id, module.path)
    elif depth:
        for other, caller in program.resolver.callers(module, function):
            found += _places(program, other, caller, depth - 1)
    return list(dict.fromkeys(found))


def _passed(program: Program, feed: Feed, module: Module, call: ast.Call) -> bool:
    found = chains(program, feed.fitting.module, feed.data)
    stages = [stage for chain in found for stage in chain.stages]
    # A file that was read again has other nodes at the same places.
    place = (module.path, module.begin(call), module.end(call))
    return any(
        (s.module.path, s.module.begin(s.call), s.module.end(s.call)) == place for s in stages
    )
