"""Which of a dataset's possible chains one call of the function that makes it really takes."""

from __future__ import annotations

import ast

from quickfit.program import Module, Program
from quickfit.program.datasets import Chain, chains
from quickfit.program.frames import Frame
from quickfit.program.module import FUNCTIONS
from quickfit.program.reaching import Reach
from quickfit.program.values import Routine

MAX_NAMES = 4


def taken_chains(program: Program, module: Module, node: ast.expr) -> list[Chain]:
    """Return the chains an expression may stand for, without those its arguments rule out.

    Of `make(paths, training=True)` these are the ones that go through `if training:`.
    """
    found = chains(program, module, node)
    made = making_call(program, module, node) if len(found) > 1 else None
    called = program.only(module, made.func) if made is not None else None
    if made is None or not isinstance(called, Routine):
        return found
    reach = Reach(program.resolver, called.module, Frame(called.node, made, module, None, 1))
    calls = {stage.call for chain in found for stage in chain.stages}
    inside = [call for call in calls if called.module.is_in(call, called.node)]
    sure = {call for call in inside if reach.comes_to(call)}
    never = {call for call in inside if _is_never_taken(reach, call)}
    kept = [chain for chain in found if _fits(chain, sure, never)]
    return kept or found


def _fits(chain: Chain, sure: set[ast.Call], never: set[ast.Call]) -> bool:
    own = {stage.call for stage in chain.stages}
    return sure <= own and not never & own


def making_call(program: Program, module: Module, node: ast.expr) -> ast.Call | None:
    """Return the call that an expression is, or that its name was given the result of."""
    for _ in range(MAX_NAMES):
        if isinstance(node, ast.Call):
            return node
        if not isinstance(node, ast.Name):
            return None
        bound = program.files.bindings(module).reaching(node, node.id)
        if len(bound) != 1 or bound[0].kind != "value" or bound[0].path or bound[0].value is None:
            return None
        node = bound[0].value
    return None


def _is_never_taken(reach: Reach, call: ast.Call) -> bool:
    """Tell whether a condition around a call surely does not hold."""
    child: ast.AST = call
    above = reach.module.parent(child)
    while above is not None and not isinstance(child, FUNCTIONS):
        if isinstance(above, ast.If) and child is not above.test:
            holds = reach.holds(above.test)
            if holds is not None and holds is not (child in above.body):
                return True
        child, above = above, reach.module.parent(above)
    return False
