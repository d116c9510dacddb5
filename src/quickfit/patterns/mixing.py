"""Tells whether what is drawn at random changes data, or is data itself."""

from __future__ import annotations

import ast

from quickfit.program.module import Function, Module, own_nodes

MAX_ROUNDS = 4


def mixes(module: Module, draw: ast.Call) -> bool:
    """Tell whether the result of a call meets an argument of the function around it.

    `x + normal(shape)` does, and so does a draw that decides what is done to `x`. Data that is
    made up of random numbers meets nothing.
    """
    function = module.function(draw)
    if function is None:
        return False
    given = _arguments(function)
    if _mentions(draw, given):
        return True
    nodes = own_nodes(function)
    drawn, given = _derived(nodes, set(), draw), _derived(nodes, given, None) | given
    given -= drawn
    return any(_joins(node, drawn, draw, given) for node in nodes)


def _arguments(function: Function) -> set[str]:
    given = function.args
    names = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return names - {"self", "cls"}


def _derived(nodes: list[ast.AST], names: set[str], call: ast.Call | None) -> set[str]:
    """Return the names that are assigned something made of names, or of a call."""
    found = set(names)
    assigned = [n for n in nodes if isinstance(n, ast.Assign)]
    for _ in range(MAX_ROUNDS):
        for node in assigned:
            if _mentions(node.value, found) or (call is not None and _holds(node.value, call)):
                found |= {
                    n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)
                }
    return found


def _joins(node: ast.AST, drawn: set[str], draw: ast.Call, given: set[str]) -> bool:
    """Tell whether an operation, a call or a choice takes both."""
    if isinstance(node, ast.Call) and node is draw:
        return False
    if not isinstance(node, ast.BinOp | ast.Call | ast.IfExp | ast.If):
        return False
    return (_mentions(node, drawn) or _holds(node, draw)) and _mentions(node, given)


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def _holds(node: ast.AST, call: ast.Call) -> bool:
    return any(n is call for n in ast.walk(node))
