"""Which of the values that a name may have are surely replaced before it is used."""

from __future__ import annotations

import ast

from quickfit.program.bindings import Binding
from quickfit.program.module import Module

_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)


def lasting(module: Module, bindings: list[Binding]) -> list[Binding]:
    """Leave out what a later statement of the same block surely replaces."""
    last: dict[tuple[ast.AST, str], Binding] = {}
    found: list[Binding] = []
    for bound in sorted(bindings, key=lambda b: getattr(b.node, "lineno", 0), reverse=True):
        above = module.parent(bound.node)
        if above is None or not _runs_through(above, bound.node):
            found.append(bound)
        elif (above, bound.kind) not in last:
            last[above, bound.kind] = bound
            found.append(bound)
    return found


def _runs_through(above: ast.AST, node: ast.AST) -> bool:
    """Tell whether code behind a block is reached only from the block's end."""
    if isinstance(above, ast.With):
        return True
    if isinstance(above, ast.Try):
        leaves = all(isinstance(handler.body[-1], _LEAVES) for handler in above.handlers)
        return node in above.body and leaves
    return False
