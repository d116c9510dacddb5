"""The layers of a Sequential model: those of its list, and those that `add` gives it later."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.program import Module, Program, argument, is_open
from quickfit.program.reaching import Reach
from quickfit.program.situations import conditions
from quickfit.program.values import Group, Made, Value

SEQUENTIAL = "keras.Sequential"
_LIST_CHANGES = ("append", "extend", "insert", "pop", "remove", "reverse", "clear")


@dataclass(frozen=True)
class Layer:
    """One layer of a model.

    Args:
        node: the expression that names it.
        module: where that stands.
        value: what it is; None where that is open.
        is_sure: it is added exactly once, not in a loop or only sometimes.
    """

    node: ast.expr
    module: Module
    value: Value | None
    is_sure: bool = True


def layers(program: Program, made: Made) -> list[Layer] | None:
    """Return the layers of a Sequential model, the first one first; None where that is open."""
    if made.maker != SEQUENTIAL or is_open(made.call):
        return None
    first = _listed(program, made)
    later = _added(program, made)
    return [*first, *later] if first is not None and later is not None else None


def last_dense(found: list[Layer]) -> Layer | None:
    """Return the last layer, if it is a `Dense`."""
    last = found[-1] if found else None
    value = last.value if last is not None else None
    is_dense = isinstance(value, Made) and value.maker == "keras.layers.Dense"
    return last if is_dense else None


def _listed(program: Program, made: Made) -> list[Layer] | None:
    given = argument(made.call, "layers", 0)
    if given is None:
        return []
    only = program.only(made.module, given, made.frame)
    if not isinstance(only, Group) or not isinstance(only.node, ast.List | ast.Tuple):
        return None
    if isinstance(given, ast.Name) and _is_changed(made.module, given.id):
        return None
    found: list[Layer] = []
    for node in only.node.elts:
        if isinstance(node, ast.Starred):
            return None
        value = program.only(only.module, node, made.frame)
        found += _flat(program, Layer(node, only.module, value))
    return found


def _is_changed(module: Module, name: str) -> bool:
    """Tell whether a list that has a name is changed anywhere."""
    calls = [c.func for c in module.calls(*_LIST_CHANGES)]
    owners = [f.value for f in calls if isinstance(f, ast.Attribute)]
    targets = [node.target for node in module.all(ast.AugAssign)]
    return any(isinstance(n, ast.Name) and n.id == name for n in (*owners, *targets))


def _flat(program: Program, layer: Layer) -> list[Layer]:
    """Return a layer; of a Sequential model inside another, its own layers."""
    value = layer.value
    if not isinstance(value, Made) or value.maker != SEQUENTIAL:
        return [layer]
    return layers(program, value) or [Layer(layer.node, layer.module, None)]


def _added(program: Program, made: Made) -> list[Layer] | None:
    """Return what `add` gives a model, in the order of the text."""
    found: list[Layer] = []
    home = made.module.function(made.call)
    for call in made.module.calls("add", "pop"):
        func = call.func
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            continue
        owners = program.values(made.module, func.value, made.frame)
        if made not in owners:
            continue
        if func.attr == "pop" or len(owners) > 1 or made.module.function(call) is not home:
            return None
        if len(call.args) != 1:
            return None
        node, holds = call.args[0], _holds(program, made, call)
        if holds is False:
            continue
        is_sure = bool(holds) and not _is_sometimes(made.module, call, made.call)
        layer = Layer(node, made.module, program.only(made.module, node, made.frame), is_sure)
        found += _flat(program, layer)
    return found


def _holds(program: Program, made: Made, call: ast.Call) -> bool | None:
    """Tell whether the conditions around a call hold where the model is made; None: perhaps."""
    reach = Reach(program.resolver, made.module, made.frame)
    around, own = (conditions(made.module, node) for node in (call, made.call))
    tests = {test: wanted for test, wanted in around.items() if test not in own}
    answers = [(reach.holds(test), wanted) for test, wanted in tests.items()]
    if any(answer is (not wanted) for answer, wanted in answers):
        return False
    return None if any(answer is None for answer, _ in answers) else True


def _is_sometimes(module: Module, call: ast.Call, made: ast.Call) -> bool:
    """Tell whether a call runs more or less often than the one that makes the model."""
    kinds = (ast.For, ast.While, ast.Try, ast.AsyncFor)
    above = module.around(call, *kinds)
    return above is not None and not module.is_in(made, above)
