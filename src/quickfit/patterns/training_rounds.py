"""Loops whose turns each train a model for long: epochs, folds, rounds of a search."""

from __future__ import annotations

import ast

from quickfit.patterns.rows import is_one_row
from quickfit.program import Module, Program, argument, name_of
from quickfit.program.module import LOOPS
from quickfit.program.turns import Turns

_FITS = ("fit", "fit_generator")
_STEPS = frozenset(("train_on_batch", "apply_gradients", "train_step", "GradientTape", "fit"))


def is_round_of_training(program: Program, around: Turns) -> bool:
    """Tell whether each turn of a loop trains for long: what is done once beside it is cheap."""
    module, loop = around.module, around.loop
    inside = [n for n in ast.walk(loop) if isinstance(n, ast.Call)]
    fits = [c for c in inside if name_of(c.func) in _FITS and _is_plain_part(module, c, loop)]
    if any(not _is_one_row(program, module, call) for call in fits):
        return True
    return any(name_of(c.func) in _STEPS and _is_deeper(module, c, loop) for c in inside)


def _is_plain_part(module: Module, call: ast.Call, loop: ast.AST) -> bool:
    """Tell whether every turn of a loop runs a call once: no condition, no loop between them."""
    above = module.parent(call)
    while above is not None and above is not loop:
        if isinstance(above, (ast.If, ast.IfExp, *LOOPS)):
            return False
        above = module.parent(above)
    return True


def _is_one_row(program: Program, module: Module, call: ast.Call) -> bool:
    rows = argument(call, "x", 0)
    return rows is not None and is_one_row(program, module, rows)


def _is_deeper(module: Module, node: ast.AST, loop: ast.AST) -> bool:
    above = module.parent(node)
    while above is not None and above is not loop:
        if isinstance(above, LOOPS):
            return True
        above = module.parent(above)
    return False
