"""Tells whether a compiled function is given the same models and optimizers in every call.

A `tf.function` may make variables only when it is traced first. An optimizer makes its own when it
is first applied: with a second one, the function fails.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from quickfit.fixes.bindings import (
    binders,
    is_called_in_loop,
    loops_around,
    parameters,
    scope_of,
)
from quickfit.fixes.frozen_layers import calls_of
from quickfit.fixes.graph_code import argument
from quickfit.fixes.script import Function, Script

_OF_TENSORS = {"shape", "dtype"}
# Functions that call each other are followed this far.
MAX_DEPTH = 5


def is_given_same_objects(scripts: Sequence[Script], function: ast.FunctionDef) -> bool:
    """Tell whether all calls of a function give it the same objects."""
    names = object_parameters(function, parameters(function))
    calls = [(script, call) for script in scripts for call in calls_of(script, function.name)]
    for name in names:
        given = [(script, argument(call, function, name)) for script, call in calls]
        texts = {ast.unparse(value) if value is not None else "" for _, value in given}
        if len(texts) != 1 or not all(is_same(scripts, *one) for one in given):
            return False
    return True


def object_parameters(function: ast.AST, names: Iterable[str]) -> list[str]:
    """Return the names that code calls or asks for attributes: models, optimizers, losses."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.value.id} if node.attr not in _OF_TENSORS else set()
    return [name for name in names if name in found and name != "self"]


def is_same(
    scripts: Sequence[Script], script: Script, value: ast.expr | None, depth: int = 0
) -> bool:
    """Tell whether an expression is one and the same object, however often it is asked."""
    if not isinstance(value, ast.Name) or depth > MAX_DEPTH:
        return False
    scope = scope_of(script, value)
    while not binders(scope, value.id) and not _is_parameter(scope, value.id):
        if isinstance(scope, ast.Module):
            return False
        scope = scope_of(script, scope)
    found = binders(scope, value.id)
    if _is_parameter(scope, value.id):
        assert isinstance(scope, Function)
        calls = [(other, call) for other in scripts for call in calls_of(other, scope.name)]
        if found or len(calls) != 1:
            return False
        return is_same(scripts, calls[0][0], argument(calls[0][1], scope, value.id), depth + 1)
    is_once = len(found) == 1 and not loops_around(script, found[0])
    return is_once and (isinstance(scope, ast.Module) or _runs_once(scripts, scope.name))


def _is_parameter(scope: ast.AST, name: str) -> bool:
    return isinstance(scope, Function) and name in parameters(scope)


def _runs_once(scripts: Sequence[Script], name: str) -> bool:
    calls = [call for script in scripts for call in calls_of(script, name)]
    return len(calls) <= 1 and not any(is_called_in_loop(script, name) for script in scripts)
