"""The order that the elements of a dataset come in: what shuffles it, and what is behind that."""

from __future__ import annotations

import ast
import re

from quickfit.code import Module, Program
from quickfit.code.datasets import Chain, Stage, chains
from quickfit.code.syntax import argument
from quickfit.code.values import Literal

_CHECKED = re.compile(r"(^|_)(val|valid|validation|test|testing|eval|dev)(_|$|ds|set|\d)", re.I)


def reshuffles(program: Program, stage: Stage) -> bool:
    """Tell whether a stage surely gives every epoch another order."""
    if stage.name != "shuffle":
        return False
    given = argument(stage.call, "reshuffle_each_iteration", 2)
    values = program.values(stage.module, given, stage.frame)
    is_so = all(isinstance(v, Literal) and v.value in (None, True) for v in values)
    return is_so and all(k.arg is not None for k in stage.call.keywords)


def only_chain(program: Program, module: Module, call: ast.Call) -> Chain | None:
    """Return the one chain that a call is the end of; None where there may be several."""
    found = chains(program, module, call)
    return found[0] if len(found) == 1 else None


def stages_behind(program: Program, module: Module, call: ast.Call, *names: str) -> list[ast.Call]:
    """Return the calls of these methods that a dataset comes to behind a stage, in its file."""
    return [
        other
        for other in module.calls(*names)
        if other is not call
        and isinstance(other.func, ast.Attribute)
        and _has(program, module, other, call)
    ]


def _has(program: Program, module: Module, node: ast.expr, call: ast.Call) -> bool:
    return any(
        any(stage.call is call for stage in chain.stages) for chain in chains(program, module, node)
    )


def is_for_checking(module: Module, call: ast.Call) -> bool:
    """Tell whether the name that a dataset gets is one of data to validate or test with."""
    statement = module.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name | ast.Attribute)]
    function = module.function(call)
    given = [getattr(function, "name", "")] if function is not None else []
    texts = [*(n.id if isinstance(n, ast.Name) else n.attr for n in names), *given]
    return any(_CHECKED.search(text) for text in texts)
