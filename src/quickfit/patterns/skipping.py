"""Clauses that make an endless generator skip a sample, so that it may skip them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.patterns.generators import endless_of, goes_round, goes_round_on, is_generator
from quickfit.patterns.swallowing import (
    clauses,
    is_broad,
    is_for_training,
    is_narrow,
    may_be_for_training,
    waits,
)
from quickfit.program import Module, Program


@dataclass(frozen=True)
class Skip:
    """A clause through which a generator never gets to a `yield`.

    Args:
        tried: the `try` that it belongs to.
        handler: the clause.
        generator: the function that goes round; the clause may stand in one that it calls.
        ever: its loop that never ends.
        module: where the generator stands.
        is_own: the clause stands in the generator itself.
    """

    tried: ast.Try
    handler: ast.ExceptHandler
    generator: ast.FunctionDef
    ever: ast.AST
    module: Module
    is_own: bool


def skips(program: Program, module: Module) -> Iterator[Skip]:
    """Yield the clauses of a file that keep a generator from giving anything, if always taken."""
    for tried, handler in clauses(module):
        function = module.function(handler)
        if not isinstance(function, ast.FunctionDef) or not _reads(tried):
            continue
        if not is_broad(program, module, handler) and not is_narrow(program, module, handler):
            continue
        found = _skip(program, module, tried, handler, function)
        if found is not None and not waits(tried, handler):
            yield found


def _skip(
    program: Program,
    module: Module,
    tried: ast.Try,
    handler: ast.ExceptHandler,
    function: ast.FunctionDef,
) -> Skip | None:
    if not is_generator(function):
        return _skip_outside(program, module, tried, handler, function)
    if not goes_round(program, module, handler):
        return None
    if not is_for_training(program, module, function):
        return None
    ever = _ever(program, module, function)
    return Skip(tried, handler, function, ever, module, is_own=True)


def _skip_outside(
    program: Program,
    module: Module,
    tried: ast.Try,
    handler: ast.ExceptHandler,
    function: ast.FunctionDef,
) -> Skip | None:
    """Return the generator that skips what a function gives when it has caught an error."""
    result = _result(tried, handler, function)
    if result is None or not may_be_for_training(program, module, function):
        return None
    for other, call in program.resolver.callers(module, function):
        generator = goes_round_on(program, other, call, result)
        if generator is not None and is_for_training(program, other, generator):
            ever = _ever(program, other, generator)
            return Skip(tried, handler, generator, ever, other, is_own=False)
    return None


def _result(
    tried: ast.Try, handler: ast.ExceptHandler, function: ast.FunctionDef
) -> ast.expr | None:
    """Return what a function gives when a clause of it is taken; None where that is open."""
    last = handler.body[-1]
    if isinstance(last, ast.Return):
        given = last.value or ast.Constant(value=None)
        return given if _is_nothing(given) else None
    is_last = function.body[-1] is tried and isinstance(last, ast.Pass)
    return ast.Constant(value=None) if is_last else None


def _is_nothing(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(isinstance(part, ast.Constant) for part in parts)


def _reads(tried: ast.Try) -> bool:
    """Tell whether something is called that may fail."""
    return any(isinstance(n, ast.Call) for part in tried.body for n in ast.walk(part))


def _ever(program: Program, module: Module, function: ast.FunctionDef) -> ast.AST:
    found = endless_of(program, module, function)
    node = found.node if found is not None else function
    return node.test if isinstance(node, ast.While) else node
