"""Precision in a program: the global policy code runs under, and hand-written gradient steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from quickfit.code import Module, Program
from quickfit.code.imports import files_run_together
from quickfit.code.syntax import argument, name_of, own_nodes
from quickfit.code.values import Literal, Made, Value
from quickfit.errors import SourceError

MIXED_FLOAT16 = "mixed_float16"
# A policy that changes nothing, where it is only one of two ways.
_PLAIN = "float32"
_SETTERS = ("set_global_policy", "set_dtype_policy", "set_policy")
_SET = ("keras.mixed_precision.set_global_policy", "keras.mixed_precision.experimental.set_policy")
_POLICY = "keras.dtype_policies.DTypePolicy"
MAX_CALLERS = 4


@dataclass(frozen=True)
class Setting:
    """A call that sets the policy; `names` are all it may set, empty where it is not known."""

    names: frozenset[str]
    call: ast.Call
    module: Module


_settings: WeakKeyDictionary[Program, list[Setting]] = WeakKeyDictionary()


def float16_setting(program: Program, module: Module, node: ast.AST) -> Setting | None:
    """Return the call because of which the layers made at a node compute in float16.

    None where no policy is set, where another one may hold, or where it is set behind the node.
    """
    if program not in _settings:
        _settings[program] = list(_all(program))
    if not _settings[program]:
        return None
    paths = files_run_together(program, module.path)
    found = [s for s in _settings[program] if s.module.path in paths and _is_run(program, s)]
    mixed = [s for s in found if MIXED_FLOAT16 in s.names]
    if not mixed or any(not s.names <= {MIXED_FLOAT16, _PLAIN} for s in found):
        return None
    if any(s.names == {_PLAIN} and not _is_conditional(s) for s in found):
        return None
    return next((s for s in mixed if _is_before(program, s, module, node)), None)


def policy_names(program: Program, module: Module, node: ast.expr | None) -> frozenset[str]:
    """Return the names of the policies that an expression may be, empty where it is not known."""
    return frozenset(_name(program, value) for value in program.values(module, node))


def _all(program: Program) -> list[Setting]:
    found: list[Setting] = []
    for path in program.files.paths:
        try:
            if not any(name in program.files.text(path) for name in _SETTERS):
                continue
            module = program.module(path)
        except SourceError:
            continue
        for call in module.calls(*_SETTERS):
            if program.called(module, call) in _SET:
                given = policy_names(program, module, _given(call))
                found.append(Setting(given, call, module))
    return found


def _given(call: ast.Call) -> ast.expr | None:
    return argument(call, "policy", 0) or argument(call, "dtype_policy", 0)


def _name(program: Program, value: Value) -> str:
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value
    if isinstance(value, Made) and value.maker == _POLICY:
        name = program.literal(value.module, argument(value.call, "name", 0), value.frame)
        return name if isinstance(name, str) else ""
    return ""


def _is_run(program: Program, setting: Setting) -> bool:
    """Tell whether a setting is seen to be made: by the file itself, or by its function's call."""
    return _is_come_to(program, setting.module, setting.call, MAX_CALLERS)


def _is_come_to(program: Program, module: Module, node: ast.AST, depth: int) -> bool:
    """Tell whether code is run by its file, through functions that are seen to be called."""
    function = module.function(node)
    if function is None or depth == 0:
        return True
    callers = program.resolver.callers(module, function)
    return any(_is_come_to(program, m, call, depth - 1) for m, call in callers)


def _is_conditional(setting: Setting) -> bool:
    return setting.module.around(setting.call, ast.If, ast.IfExp) is not None


def _is_before(program: Program, setting: Setting, module: Module, node: ast.AST) -> bool:
    """Tell whether a setting may be made before a node is run: not where the order is seen."""
    if setting.module is not module:
        return True
    outer, inner = module.function(setting.call), module.function(node)
    place = module.begin(setting.call)
    if outer is inner:
        return place < module.begin(node)
    if outer is not None or inner is None:
        calls = program.resolver.callers(module, outer) if outer is not None else []
        here = [c for m, c in calls if m is module and module.function(c) is inner]
        return not here or any(module.begin(c) < module.begin(node) for c in here)
    calls = program.resolver.callers(module, inner)
    here = [c for m, c in calls if m is module and module.function(c) is None]
    # A library calls what the text does not: from anywhere behind the function.
    return any(place < module.begin(c) for c in here) if here else place < module.begin(inner)


TAPE = "tensorflow.GradientTape"
APPLIES = ("apply_gradients", "apply")


@dataclass(frozen=True)
class Step:
    """Gradients on their way.

    Args:
        tape: the block that records; None where it is not seen.
        gradient: the call that takes the gradients.
        loss: what they are of.
        apply: the call that applies them.
        optimizer: whose method that is.
    """

    tape: ast.With | None
    gradient: ast.Call
    loss: ast.expr
    apply: ast.Call
    optimizer: ast.expr


def steps(program: Program, module: Module) -> Iterator[Step]:
    """Yield the steps of a file whose gradients are taken and applied in one function."""
    for call in module.calls("gradient"):
        loss = argument(call, "target", 0)
        tape = call.func.value if isinstance(call.func, ast.Attribute) else None
        if loss is None or tape is None or program.maker(module, tape) != TAPE:
            continue
        for apply in _applying(module, call):
            if isinstance(apply.func, ast.Attribute):
                block = _block(module, call, tape)
                yield Step(block, call, loss, apply, apply.func.value)


def is_applied(module: Module, node: ast.AST) -> bool:
    """Tell whether gradients go into `apply_gradients(zip(…))` or `apply(…)`."""
    return _apply_around(module, node) is not None


def only_applied(module: Module, statement: ast.stmt, name: str) -> bool:
    """Tell whether gradients that a statement gives a name are applied, and nothing else."""
    later = _uses(module, statement, name)
    return bool(later) and all(isinstance(n.ctx, ast.Load) and is_applied(module, n) for n in later)


def is_on_its_way(module: Module, step: Step) -> bool:
    """Tell whether the gradients of a step are applied as they are, and looked at nowhere."""
    if is_applied(module, step.gradient):
        return True
    statement, name = _given_to(module, step.gradient)
    return bool(name) and only_applied(module, statement, name)


def _applying(module: Module, gradient: ast.Call) -> list[ast.Call]:
    at_once = _apply_around(module, gradient)
    if at_once is not None:
        return [at_once]
    statement, name = _given_to(module, gradient)
    if not name:
        return []
    found = [_apply_around(module, use) for use in _uses(module, statement, name)]
    return list(dict.fromkeys(call for call in found if call is not None))


def _given_to(module: Module, call: ast.Call) -> tuple[ast.stmt, str]:
    """Return the statement of a call, and the one name that it gives the result."""
    statement = module.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            return statement, target.id
    return statement, ""


def _uses(module: Module, statement: ast.stmt, name: str) -> list[ast.Name]:
    """Return where a name is used behind a statement, but for the other way of an `if`."""
    scope = module.function(statement) or module.tree
    names = [n for n in own_nodes(scope) if isinstance(n, ast.Name) and n.id == name]
    later = [n for n in names if module.begin(n) > module.end(statement)]
    return [n for n in later if not _is_other_way(module, statement, n)]


def _is_other_way(module: Module, statement: ast.stmt, node: ast.AST) -> bool:
    choice = module.parent(statement)
    if not isinstance(choice, ast.If) or statement not in choice.body:
        return False
    return any(module.is_in(node, other) for other in choice.orelse)


def _apply_around(module: Module, node: ast.AST) -> ast.Call | None:
    above = module.parent(node)
    if isinstance(above, ast.Call) and name_of(above.func) == "zip" and node in above.args:
        above = module.parent(above)
    return above if isinstance(above, ast.Call) and name_of(above.func) in APPLIES else None


def _block(module: Module, gradient: ast.Call, tape: ast.expr) -> ast.With | None:
    """Return the block that is recorded on a tape: the last one in front of its gradient."""
    scope = module.function(gradient) or module.tree
    found = None
    for node in own_nodes(scope):
        if isinstance(node, ast.With) and module.begin(node) < module.begin(gradient):
            names = [name_of(item.optional_vars) for item in node.items if item.optional_vars]
            if isinstance(tape, ast.Name) and tape.id in names:
                found = node if found is None or found.lineno < node.lineno else found
    return found
