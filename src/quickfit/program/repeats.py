"""Says which loop runs a piece of code again and again, also through functions it calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.program import Module, Program
from quickfit.program.module import own_nodes

MAX_DEPTH = 3
Loop = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True)
class Repeat:
    """A loop around a piece of code; `call` is where the loop's body goes to it, if elsewhere."""

    loop: Loop
    module: Module
    call: ast.Call | None = None


def repeat(
    program: Program, module: Module, node: ast.AST, *, depth: int = MAX_DEPTH
) -> Repeat | None:
    """Return the innermost loop that runs a node more than once; None where none is seen to."""
    for loop in module.loops(node):
        if not runs_once(loop):
            return Repeat(loop, module)
    function = module.function(node)
    if function is None or depth == 0:
        return None
    for other, call in program.resolver.callers(module, function):
        found = repeat(program, other, call, depth=depth - 1)
        if found is not None:
            return Repeat(found.loop, found.module, found.call or call)
    return None


def runs_once(loop: Loop) -> bool:
    """Tell whether a loop's body surely ends it at its first turn: `while True: …; break`."""
    last = loop.body[-1]
    if not isinstance(last, ast.Break | ast.Return | ast.Raise):
        return False
    return not any(isinstance(n, ast.Continue) for n in own_nodes(loop))
