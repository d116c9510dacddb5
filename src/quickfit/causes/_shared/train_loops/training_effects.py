"""Tells whether code of a callback can change the training that calls it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntEnum

from quickfit.code import Module, Program
from quickfit.code.scopes import imported_from_project
from quickfit.code.syntax import Def, called_name, name_of

Owner = Def | ast.Lambda
# Calls that change a model, its optimizer, or whether it goes on.
_CHANGING = {"set_weights", "assign", "assign_add", "assign_sub", "set_value", "load_weights"}
_CHANGING |= {"fit", "train_on_batch", "apply_gradients", "apply", "minimize", "restore", "compile"}
_CHANGING |= {"exit", "_exit", "kill", "setattr", "reset_states", "set_learning_rate", "seed"}
_CHANGING |= {"set_random_seed", "set_seed", "exec", "eval", "clear_session"}
# Calls that may: they draw random numbers, or begin a metric of the training anew.
_UNSURE = {"evaluate", "reset_state", "reset_metrics", "test_on_batch", "shuffle", "choice"}
# Calls that only look at what they are given.
_LOOKING = {
    "print",
    "len",
    "list",
    "sorted",
    "zip",
    "enumerate",
    "isinstance",
    "hasattr",
    "getattr",
}
_LOOKING |= {"get_weights", "predict", "predict_on_batch", "str", "float", "int", "dict", "append"}
MAX_DEPTH = 4


class Effect(IntEnum):
    """What code does to the training around it, the worst last."""

    NONE = 0
    UNSURE = 1
    CHANGES = 2


def effect(program: Program, module: Module, function: Owner, depth: int = 0) -> Effect:
    """Return the worst that a function of a callback may do, by what it calls and sets."""
    if depth > MAX_DEPTH:
        return Effect.UNSURE
    worst = Effect.NONE
    for node in ast.walk(function):
        worst = max(worst, _of_node(node))
        if isinstance(node, ast.Call):
            inner = list(_functions(program, module, node))
            worst = max([worst, *(effect(program, s, f, depth + 1) for s, f in inner)])
            if not inner and _is_handed_the_model(node):
                worst = max(worst, Effect.UNSURE)
    return worst


def _of_node(node: ast.AST) -> Effect:
    if isinstance(node, ast.Raise):
        return Effect.CHANGES
    if isinstance(node, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            return Effect.NONE if is_own else Effect.CHANGES
        if node.attr == "random":
            return Effect.UNSURE
        return Effect.CHANGES if node.attr == "stop_training" else Effect.NONE
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in _CHANGING:
            return Effect.CHANGES
        parts = [part for part in ast.walk(node.func) if isinstance(part, ast.expr)]
        is_drawn = any(name_of(part) == "random" for part in parts)
        return Effect.UNSURE if name in _UNSURE or is_drawn else Effect.NONE
    return Effect.NONE


def _functions(
    program: Program, module: Module, call: ast.Call
) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """Yield the functions of the project that a call may run."""
    name = called_name(call)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and owner.id == "self":
        holder = module.around(call, ast.ClassDef)
        body = holder.body if holder is not None else []
        yield from ((module, f) for f in body if isinstance(f, ast.FunctionDef) and f.name == name)
    elif owner is None:
        other = imported_from_project(module, name, program) or (module, name)
        found = [f for f in other[0].all(ast.FunctionDef) if f.name == other[1]]
        yield from ((other[0], f) for f in found)


def _is_handed_the_model(call: ast.Call) -> bool:
    """Tell whether code that nobody can see here is given the model or the optimizer."""
    if called_name(call) in _LOOKING:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(name_of(value) in ("model", "net", "optimizer", "opt", "self") for value in given)
