"""Values of a step that a training loop hands to a function which reads them in every turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from quickfit.errors import SourceError
from quickfit.patterns.step_reads import (
    READS,
    Loop,
    StepRead,
    decides,
    is_of_step,
    is_plain,
    read_by,
    trains_on,
)
from quickfit.program import Module, Program, argument
from quickfit.program.module import LOOPS, Function
from quickfit.program.parameters import is_first, position_of

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
    is_own = isinstance(module.parent(function), ast.ClassDef) and is_first(function, value.id)
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
    at = position_of(module, function, name)
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
        _known[program] = any("GradientTape" in _text(program, p) for p in program.files.paths)
    return _known[program]


def _text(program: Program, path: str) -> str:
    try:
        return program.files.text(path)
    except SourceError:
        return ""
