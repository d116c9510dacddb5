"""What parts two lists that belong together, and whether two shuffles do."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.patterns.lineage import place
from quickfit.program.module import FUNCTIONS, Module

# Let two shuffles draw the same.
_SEEDING = (
    *("seed", "set_state", "setstate", "default_rng", "RandomState", "Random", "set_seed"),
    *("set_random_seed", "get_state", "getstate"),
)


@dataclass(frozen=True)
class Parting:
    """What parts two lists, in a sentence.

    Args:
        at: the code that does it.
        used: where both are used.
        summary: what happens.
    """

    at: ast.expr
    used: ast.AST
    summary: str


def draws_differ(module: Module, first: ast.Call, second: ast.Call) -> bool:
    """Tell whether two shuffles draw from one generator, and nobody winds it back between."""
    if ast.unparse(first.func) != ast.unparse(second.func) or first.keywords or second.keywords:
        return False
    if any(isinstance(n, ast.Call) for n in ast.walk(first.func)):
        return False  # `Random(4).shuffle(x)`: a generator for each
    if module.around(first, *FUNCTIONS) is not module.around(second, *FUNCTIONS):
        return False
    between = [c for c in module.calls(*_SEEDING) if place(first) < place(c) < place(second)]
    return not between and module.loops(first) == module.loops(second)
