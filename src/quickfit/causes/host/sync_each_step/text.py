"""Values that a hand-written training loop reads out of its step in every turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from quickfit.causes._shared.train_loops.steps_in_text import (
    compiles,
    is_epochs,
    is_over_dataset,
    runs_step,
    tapes,
    updates,
)
from quickfit.code import Module, Program
from quickfit.code.calls import is_first_parameter, position_of_parameter
from quickfit.code.loops import is_many, turns_around
from quickfit.code.names import Binding
from quickfit.code.syntax import LOOPS, Function, argument, name_of

READS = ("numpy", "item", "float", "int")
SHOWS = ("print",)
# How often what is computed of a value is followed.
MAX_ROUNDS = 3
# Fewer steps than this are a try-out.
MIN_STEPS = 20
Loop = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True)
class StepRead:
    """A call that waits for a value of the step.

    Args:
        call: the call.
        value: the tensor or metric.
        loop: that runs the step.
        home: where the loop stands, if elsewhere.
        through: the call in the loop that hands the value over.
    """

    call: ast.Call
    value: ast.expr
    loop: Loop
    home: Module | None = None
    through: ast.Call | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the value is printed as it is, which everybody sees."""
        return name_of(self.call.func) in SHOWS


def step_reads(program: Program, module: Module) -> Iterator[StepRead]:
    """Yield what reads a value in every step of a loop that trains, the first of a statement."""
    told: set[ast.stmt] = set()
    trains: dict[ast.AST, bool] = {}
    for call in (*module.calls(*READS), *module.calls(*SHOWS)):
        loops = module.loops(call)
        if not loops or module.statement(call) in told or not is_plain(module, call, loops[0]):
            continue
        for value in read_by(call):
            if not is_of_step(program, module, value, loops[0]):
                continue
            if loops[0] not in trains:
                trains[loops[0]] = trains_on(program, module, loops[0])
            if trains[loops[0]] and not decides(module, call, loops[0]):
                told.add(module.statement(call))
                yield StepRead(call, value, loops[0])
                break


def read_by(call: ast.Call) -> list[ast.expr]:
    """Return the expressions whose values a call may wait for."""
    name = name_of(call.func)
    if name in ("numpy", "item"):
        is_method = isinstance(call.func, ast.Attribute) and not call.args
        return [call.func.value] if is_method and isinstance(call.func, ast.Attribute) else []
    if not isinstance(call.func, ast.Name):
        return []  # `tf.print` and its like are operations
    parts: list[ast.expr] = []
    for given in call.args:
        shown = given.values if isinstance(given, ast.JoinedStr) else [given]
        parts += [s.value if isinstance(s, ast.FormattedValue) else s for s in shown]
    return parts


def is_plain(module: Module, call: ast.Call, loop: Loop) -> bool:
    """Tell whether every turn of a loop runs a call: it stands under no condition."""
    child, above = call, module.parent(call)
    node: ast.AST = child
    while above is not None and above is not loop:
        is_branch = isinstance(above, ast.If | ast.IfExp | ast.ExceptHandler | ast.BoolOp)
        if is_branch or isinstance(above, ast.Lambda | ast.Assert | ast.Return):
            return False
        node, above = above, module.parent(above)
    body = loop.body
    # What comes behind `if …: continue` or `break` is not run in every turn.
    before = body[: body.index(node)] if node in body else body
    return not any(_may_leave(statement) for statement in before)


def _may_leave(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    return any(isinstance(n, ast.Continue) for n in ast.walk(statement))


def is_of_step(program: Program, module: Module, value: ast.expr, loop: Loop) -> bool:
    """Tell whether a value is what the step of this turn gives, or a metric after it."""
    if isinstance(value, ast.Call) and name_of(value.func) == "result":
        owner = value.func.value if isinstance(value.func, ast.Attribute) else None
        return owner is not None and program.maker(module, owner).startswith("keras.metrics.")
    if isinstance(value, ast.Call) and name_of(value.func) in ("reduce_mean", "reduce_sum"):
        is_given = bool(value.args) and isinstance(value.args[0], ast.Name)
        return is_given and is_of_step(program, module, value.args[0], loop)
    if isinstance(value, ast.Call):
        return module.loops(value)[:1] == [loop] and runs_step(program, module, value)
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Name) and is_of_step(program, module, value.value, loop)
    if not isinstance(value, ast.Name):
        return False
    bindings = program.files.bindings(module).reaching(value, value.id)
    return bool(bindings) and all(_is_result(program, module, b, loop) for b in bindings)


def _is_result(program: Program, module: Module, binding: Binding, loop: Loop) -> bool:
    """Tell whether a name is given by a call of the step in this very loop, or under its tape."""
    if binding.kind != "value" or module.loops(binding.node)[:1] != [loop]:
        return False
    if isinstance(binding.value, ast.Call) and runs_step(program, module, binding.value):
        return True
    block = module.around(binding.node, ast.With)
    is_tape = block in tapes(program, module) and isinstance(binding.value, ast.Call)
    return is_tape and block is not None and module.is_in(block, loop)


def trains_on(program: Program, module: Module, loop: Loop) -> bool:
    """Tell whether each turn of a loop is one step of a training that takes many."""
    if is_epochs(loop) and not is_over_dataset(program, module, loop):
        return False  # one step with all of the data: it takes as long as an epoch
    around = turns_around(program, module, loop.body[0])
    function = module.function(loop)
    decorators = getattr(function, "decorator_list", [])
    if any(compiles(program, module, d) for d in decorators):
        return False  # what prints here does so once, while it is traced
    if not is_many(program, around, MIN_STEPS):
        return False
    inside = list(ast.walk(loop))
    if any(block in inside for block in tapes(program, module)) and updates(inside):
        return not _is_nested(module, loop, inside)
    calls = [n for n in inside if isinstance(n, ast.Call) and module.loops(n)[:1] == [loop]]
    return any(runs_step(program, module, call) for call in calls)


def _is_nested(module: Module, loop: Loop, inside: list[ast.AST]) -> bool:
    """Tell whether the tape stands in a loop of its own inside this one."""
    tape = [n for n in inside if isinstance(n, ast.Call) and name_of(n.func) == "GradientTape"]
    return all(module.loops(call)[:1] != [loop] for call in tape)


def decides(module: Module, call: ast.Call, loop: Loop | ast.FunctionDef) -> bool:
    """Tell whether a loop goes by the value: it is compared, or given to what comes next."""
    statement = module.statement(call)
    if isinstance(statement, ast.If | ast.While | ast.Assert) or _is_collected(module, call):
        return True
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return isinstance(statement, (ast.Return, *LOOPS))
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    names = _derived(loop, names)
    tests = [n.test for n in ast.walk(loop) if isinstance(n, ast.If | ast.While | ast.IfExp)]
    asked = [*tests, *_needed_by(loop)]
    return any(isinstance(n, ast.Name) and n.id in names for t in asked for n in ast.walk(t))


def _derived(loop: ast.AST, names: set[str]) -> set[str]:
    """Return names, and those that a loop computes of them."""
    found = set(names)
    assigned = [n for n in ast.walk(loop) if isinstance(n, ast.Assign | ast.AugAssign)]
    calls = [n for n in ast.walk(loop) if isinstance(n, ast.Call)]
    collected = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "append"]
    for _ in range(MAX_ROUNDS):
        for node in assigned:
            if any(isinstance(n, ast.Name) and n.id in found for n in ast.walk(node.value)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                stored = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
                found |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
        for call in collected:
            if any(
                isinstance(n, ast.Name) and n.id in found for a in call.args for n in ast.walk(a)
            ):
                found |= {name_of(call.func.value)}  # type: ignore[attr-defined]
    return found - {""}


def _needed_by(loop: ast.AST) -> list[ast.expr]:
    """Return what a loop gives to an environment that goes by it: `env.step(action)`."""
    calls = [n for n in ast.walk(loop) if isinstance(n, ast.Call) and name_of(n.func) == "step"]
    handed = [part for call in calls for part in call.args]
    # `[env.step(a) for env, a in zip(envs, actions)]`
    heads = [n for n in ast.walk(loop) if isinstance(n, ast.ListComp)]
    inside = [h for h in heads if any(call in ast.walk(h.elt) for call in calls)]
    return [*handed, *(g.iter for h in inside for g in h.generators)]


def _is_collected(module: Module, call: ast.Call) -> bool:
    """Tell whether whole arrays are collected, to be put together later."""
    above = module.parent(call)
    if not isinstance(above, ast.Call) or name_of(above.func) not in ("append", "extend"):
        return False
    kept = ast.unparse(above.func.value) if isinstance(above.func, ast.Attribute) else ""
    joined = module.calls("concatenate", "vstack", "hstack", "concat")
    return any(ast.unparse(c.args[0]) == kept for c in joined if c.args)


# Functions between the loop and the one that reads.
MAX_DEPTH = 2
_BRANCHES = (ast.If, ast.IfExp, ast.ExceptHandler, ast.BoolOp, ast.Lambda, ast.Assert, *LOOPS)
_LEAVES = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)


def handed_reads(program: Program, module: Module) -> Iterator[StepRead]:
    """Yield what reads a parameter that a training loop gives a value of its step in every turn."""
    for call in module.calls(*READS) if _has_steps(program) else ():
        function = module.function(call)
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            continue
        for value in read_by(call):
            name = _parameter(program, module, function, value)
            if not name or not _is_always_run(module, call, function):
                continue
            if decides(module, call, function):
                continue
            way = _loop(program, module, function, name, MAX_DEPTH)
            if way is not None:
                loop, home, through = way
                yield StepRead(call, value, loop, home, through)
                break


def _parameter(program: Program, module: Module, function: Function, value: ast.expr) -> str:
    """Return the parameter that an expression is, as the function was given it; else empty."""
    if not isinstance(value, ast.Name):
        return ""
    bound = program.files.bindings(module).reaching(value, value.id)
    is_given = len(bound) == 1 and bound[0].kind == "parameter"
    if not is_given or module.around(bound[0].node, ast.FunctionDef, ast.Lambda) is not function:
        return ""
    is_own = isinstance(module.parent(function), ast.ClassDef) and is_first_parameter(
        function, value.id
    )
    return "" if is_own else value.id


def _is_always_run(module: Module, call: ast.Call, function: ast.FunctionDef) -> bool:
    """Tell whether every call of a function comes to a call in it."""
    node: ast.AST = call
    above = module.parent(node)
    while above is not None and above is not function:
        if isinstance(above, _BRANCHES):
            return False
        node, above = above, module.parent(above)
    if node not in function.body:
        return False
    before = function.body[: function.body.index(node)]
    return not any(isinstance(n, _LEAVES) for each in before for n in ast.walk(each))


def _loop(
    program: Program, module: Module, function: ast.FunctionDef, name: str, depth: int
) -> tuple[Loop, Module, ast.Call] | None:
    """Return the loop that surely gives a parameter a value of its step, and the call in it."""
    at = position_of_parameter(module, function, name)
    for other, call in program.resolver.callers(module, function):
        given = argument(call, name, at) if at >= 0 else None
        loops = other.loops(call)
        if given is None:
            continue
        if loops and is_plain(other, call, loops[0]):
            is_read = is_of_step(program, other, given, loops[0])
            is_free = is_read and not decides(other, call, loops[0])
            if is_free and trains_on(program, other, loops[0]):
                return loops[0], other, call
        elif depth > 1 and not loops:
            found = _passed_on(program, other, call, given, depth - 1)
            if found is not None:
                return found
    return None


def _passed_on(
    program: Program, module: Module, call: ast.Call, given: ast.expr, depth: int
) -> tuple[Loop, Module, ast.Call] | None:
    """Return the loop that gives a value to a function which gives it to another one."""
    function = module.function(call)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    name = _parameter(program, module, function, given)
    if not name or not _is_always_run(module, call, function):
        return None
    return _loop(program, module, function, name, depth)


_known: WeakKeyDictionary[Program, bool] = WeakKeyDictionary()


def _has_steps(program: Program) -> bool:
    """Tell whether a program has steps written by hand at all, looked for once."""
    if program not in _known:
        _known[program] = any(
            "GradientTape" in program.files.text_or_empty(p) for p in program.files.paths
        )
    return _known[program]
