"""What functions of the program give for arguments of known shapes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quickfit.program.module import Function, Module, argument, keyword, own_nodes
from quickfit.program.parameters import default_of, is_first, position_of
from quickfit.program.spread import Spread, is_hidden, spread_at
from quickfit.program.values import Routine
from quickfit.shapes.array_items import item
from quickfit.shapes.questions import Env, Question
from quickfit.shapes.shapes import Parts, Stream, Thing, merged

if TYPE_CHECKING:
    from quickfit.shapes.shaping import Shaping

# Decorators behind which a function gives what it gave before.
_PLAIN = frozenset(("tensorflow.function", "builtins.staticmethod", "builtins.classmethod"))


def arguments(shaping: Shaping, routine: Routine, question: Question) -> Env:
    """Return what one call gives for the parameters of a function of the program."""
    home, module = routine.node, routine.module
    args = [*home.args.posonlyargs, *home.args.args, *home.args.kwonlyargs]
    return {a: argument_of(module, home, a.arg, question) for a in args}


def argument_of(module: Module, home: Function, name: str, asked: Question) -> Thing | None:
    """Return what one call of a function gives for a parameter."""
    call, at = asked.call, position_of(module, home, name)
    given = argument(call, name, at) if at >= 0 else keyword(call, name)
    if given is not None:
        return asked.shaping.of(asked.module, given, asked.env)
    default = default_of(home, name)
    if is_hidden(call, at):
        return _spread(spread_at(call, at), asked, is_needed=default is None)
    return asked.shaping.of(module, default) if default is not None else None


def _spread(spread: Spread | None, asked: Question, *, is_needed: bool) -> Thing | None:
    """Return what `f(*data, 3)` gives for a parameter."""
    data = asked.shaping.of(asked.module, spread.rest, asked.env) if spread is not None else None
    if spread is None or data is None:
        return None
    length = len(data.items) if isinstance(data, Parts) else None
    if length is None:
        return item(data, spread.index) if spread.is_last and is_needed else None
    if spread.index < length:
        return item(data, spread.index)
    return asked.shaping.of(asked.module, spread.behind(length), asked.env)


def run(shaping: Shaping, routine: Routine, given: Env, env: Env | None = None) -> Thing | None:
    """Return what a function gives when its parameters are these."""
    home, module = routine.node, routine.module
    inner = {**(env or {}), **given}
    if isinstance(home, ast.Lambda):
        return shaping.of(module, home.body, inner)
    if not _is_plain(shaping, module, home):
        return None
    nodes = own_nodes(home)
    yields = [n.value for n in nodes if isinstance(n, ast.Yield)]
    if yields or any(isinstance(n, ast.YieldFrom) for n in nodes):
        is_whole = not any(isinstance(n, ast.YieldFrom) for n in nodes)
        return Stream(merged(shaping.of(module, y, inner) for y in yields) if is_whole else None)
    returns = [n.value for n in nodes if isinstance(n, ast.Return)]
    return merged(shaping.of(module, r, inner) for r in returns)


def called_with(
    shaping: Shaping, routine: Routine, things: Sequence[Thing | None], env: Env | None = None
) -> Thing | None:
    """Return what a function gives for these arguments, one behind the other."""
    plain = [*routine.node.args.posonlyargs, *routine.node.args.args]
    if plain and is_first_of_method(routine.module, routine.node, plain[0].arg):
        plain = plain[1:]
    if routine.node.args.vararg is not None or len(plain) < len(things):
        return None
    given: Env = dict.fromkeys(plain)
    given.update(zip(plain, things, strict=False))
    return run(shaping, routine, given, env)


def is_first_of_method(module: Module, home: Function, name: str) -> bool:
    """Tell whether a parameter is the object of a method."""
    return isinstance(module.parent(home), ast.ClassDef) and is_first(home, name)


def _is_plain(
    shaping: Shaping, module: Module, home: ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    names = [d.func if isinstance(d, ast.Call) else d for d in home.decorator_list]
    return all(shaping.program.name(module, name) in _PLAIN for name in names)
