"""Train steps written by hand that nothing compiles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._shared.train_loops.steps_in_text import (
    is_eager,
    is_over_dataset,
    tapes,
    updates,
)
from quickfit.code import Module, Program
from quickfit.code.loops import Turns, is_many, turns_around
from quickfit.code.syntax import name_of, own_nodes
from quickfit.code.values import Routine

# In a compiled function these would run once, while it is traced, or fail.
_NEEDS_VALUES = frozenset(("numpy", "item", "tolist", "print", "float", "int", "bool", "append"))
# Fewer steps than this are a try-out.
MIN_STEPS = 20
MAX_DEPTH = 2


@dataclass(frozen=True)
class EagerStep:
    """A step that runs eagerly.

    Args:
        tape: the call of `GradientTape`.
        around: the loop.
        is_certain: the loop runs over a dataset, and nothing in the step needs Python.
    """

    tape: ast.Call
    around: Turns
    is_certain: bool


def eager_steps(program: Program, module: Module) -> Iterator[EagerStep]:
    """Yield the steps of a file that loops run eagerly, on every way to them."""
    for block in tapes(program, module):
        around = turns_around(program, module, block)
        if not around or not is_many(program, around, MIN_STEPS):
            continue
        loops = module.loops(block)
        function = module.function(block)
        scope = loops[0] if loops else function
        if scope is None or not updates(list(ast.walk(scope))):
            continue  # gradients are looked at, and nothing is trained
        if not is_eager(program, module, block):
            continue
        over = any(is_over_dataset(program, t.module, t.loop) for t in around)
        step: ast.AST = block if loops or function is None else function
        certain = over and not _needs_values(program, module, step)
        yield EagerStep(_tape(block), around[0], certain)


def _tape(block: ast.With) -> ast.Call:
    calls = [item.context_expr for item in block.items]
    return next(c for c in calls if isinstance(c, ast.Call) and name_of(c.func) == "GradientTape")


def _needs_values(program: Program, module: Module, scope: ast.AST, depth: int = MAX_DEPTH) -> bool:
    """Tell whether code, or what it calls, takes values out of tensors or acts on Python's."""
    for node in own_nodes(scope):
        if not isinstance(node, ast.Call):
            continue
        if _is_of_python(program, module, node):
            return True
        values = program.values(module, node.func) if depth else ()
        ours = [value for value in values if isinstance(value, Routine)]
        if any(_needs_values(program, r.module, r.node, depth - 1) for r in ours):
            return True
    return False


def _is_of_python(program: Program, module: Module, call: ast.Call) -> bool:
    name = name_of(call.func)
    full = program.called(module, call)
    if full.startswith(("numpy.", "random.")):
        return True
    return name in _NEEDS_VALUES and not full.startswith("tensorflow.")
