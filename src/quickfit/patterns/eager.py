"""Where a program asks TensorFlow or Keras to run its steps eagerly, one operation at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.findings import Edit, Position
from quickfit.program import Module, Program, argument, is_open, name_of, own_nodes
from quickfit.program.conditions import has_other_way, is_for_looking, never_runs
from quickfit.program.keyword_dicts import unpacked
from quickfit.program.together import together
from quickfit.program.values import Literal, Routine

SETTERS = ("run_functions_eagerly", "experimental_run_functions_eagerly")
# The place of `run_eagerly` among the arguments of `compile`.
_POSITION = 5
# Code that Keras compiles as part of a step.
_STEP_METHODS = frozenset(("train_step", "test_step", "call", "compute_loss", "update_state"))
_TRAINING = ("fit", "fit_generator", "train_on_batch", "apply_gradients")


def asked_for(program: Program, module: Module) -> Iterator[tuple[ast.Call, Module, ast.expr]]:
    """Yield the calls of `compile` that surely make a model eager, with the argument.

    The argument may stand elsewhere: in a dictionary that a call is given with `**`.
    """
    for call in module.calls("compile"):
        given = argument(call, "run_eagerly", _POSITION)
        place = (module, given) if given is not None else _spread(program, module, call)
        if place is None or not is_true(program, *place):
            continue
        if not never_runs(program, module, call) and not _is_a_choice(program, module, call):
            yield call, *place


def _spread(program: Program, module: Module, call: ast.Call) -> tuple[Module, ast.expr] | None:
    """Return `run_eagerly` out of a dictionary with arguments of a Keras model."""
    more = unpacked(program, module, call) if is_open(call) else None
    return more.get("run_eagerly") if more is not None else None


def _is_a_choice(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether another `compile` takes the place of this one where nobody looks."""
    return is_for_looking(program, module, call) or has_other_way(module, call, "compile")


def is_true(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is True, whatever way leads to it."""
    values = program.values(module, node)
    return bool(values) and all(isinstance(v, Literal) and v.value is True for v in values)


def switched_on(program: Program, module: Module) -> Iterator[ast.AST]:
    """Yield what makes all functions, or a model, eager and is never taken back."""
    calls = module.calls(*SETTERS)
    if calls and not _is_taken_back(program, module):
        yield from (c for c in calls if _is_for_good(program, module, c))
    if "run_eagerly" not in module.text:
        return
    for node in module.all(ast.Assign):
        target = node.targets[0]
        is_named = isinstance(target, ast.Attribute) and target.attr == "run_eagerly"
        if not is_named or not is_true(program, module, node.value) or _is_own(target):
            continue
        if not never_runs(program, module, node) and not is_for_looking(program, module, node):
            yield node


def _is_own(target: ast.expr) -> bool:
    """Tell whether an attribute is one of a class of the program itself."""
    assert isinstance(target, ast.Attribute)
    return name_of(target.value) in ("self", "cls", "args", "config", "cfg", "FLAGS")


def _is_taken_back(program: Program, module: Module) -> bool:
    """Tell whether some call gives another value than True, here or in another file."""
    near = together(program, module.path)
    others = [m for name in SETTERS for m in program.files.mentioning(name, module.path)]
    places = [module, *(m for m in dict.fromkeys(others) if m.path in near)]
    return any(not _is_on(program, m, c) for m in places for c in m.calls(*SETTERS))


def _is_on(program: Program, module: Module, call: ast.Call) -> bool:
    given = argument(call, "run_eagerly", 0)
    return given is not None and is_true(program, module, given)


def _is_for_good(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a program that trains surely runs such a call."""
    if not program.called(module, call).startswith("tensorflow."):
        return False
    if never_runs(program, module, call) or is_for_looking(program, module, call):
        return False
    function = module.function(call)
    if function is None:
        return module.around(call, ast.ExceptHandler) is None
    trains = any(
        isinstance(n, ast.Call) and name_of(n.func) in _TRAINING for n in own_nodes(function)
    )
    return trains or bool(program.resolver.callers(module, function))


# -- what a step needs ------------------------------------------------------------------------


def is_needed(program: Program, module: Module, node: ast.AST) -> bool:
    """Tell whether code of a step takes values out of tensors, which needs eager execution."""
    if "numpy" not in module.text and "print" not in module.text:
        return _has_needy_loss(program, module, node)
    for call in module.calls("numpy", "item", "tolist"):
        function = module.function(call)
        if isinstance(function, ast.FunctionDef) and function.name in _STEP_METHODS:
            return True
    return _has_needy_loss(program, module, node)


def _has_needy_loss(program: Program, module: Module, node: ast.AST) -> bool:
    """Tell whether a loss or metric that is given to `compile` takes values out of tensors."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    values = [v for name in names for v in program.values(module, name)]
    given = [v.node for v in values if isinstance(v, Routine)]
    calls = [n for function in given for n in own_nodes(function) if isinstance(n, ast.Call)]
    return any(name_of(call.func) in ("numpy", "item", "tolist") for call in calls) or any(
        isinstance(call.func, ast.Attribute) and name_of(call.func.value) in ("np", "numpy")
        for call in calls
    )


# -- edits ------------------------------------------------------------------------------------


def without_argument(module: Module, call: ast.Call, value: ast.expr) -> Edit:
    """Return the edit that takes an argument from a call, or sets it to False."""
    parts: list[ast.AST] = sorted([*call.args, *call.keywords], key=module.begin)
    given = next((k for k in call.keywords if k.value is value), None)
    if given is None:
        return module.replace(value, "False")
    at = parts.index(given)
    begin, end = module.begin(given), module.end(given)
    if at > 0:
        begin = module.end(parts[at - 1])
    elif len(parts) > 1:
        end = module.begin(parts[1])
    between = _text(module, begin, module.begin(given)) + _text(module, module.end(given), end)
    is_plain = not between.replace(",", "", 1).strip()
    return Edit(module.path, begin, end, "") if is_plain else module.replace(value, "False")


def _text(module: Module, begin: Position, end: Position) -> str:
    lines = module.lines[begin[0] - 1 : end[0]]
    if not lines or begin >= end:
        return ""
    lines[-1] = lines[-1][: end[1]]
    lines[0] = lines[0][begin[1] :]
    return "\n".join(lines)
