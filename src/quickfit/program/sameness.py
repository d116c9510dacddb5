"""Tells whether two expressions surely stand for the same thing."""

from __future__ import annotations

import ast

from quickfit.program import Module, Program
from quickfit.program.values import Item, Literal, Member, Unknown, Value, Values

Place = tuple[Module, ast.expr]


def is_same(program: Program, one: Place, other: Place) -> bool:
    """Tell whether an expression is, or may well be, what another one surely is."""
    values, others = program.values(*one), program.values(*other)
    if is_among(values, others):
        return True
    (module, node), (there, named) = one, other
    if module is not there or ast.dump(node) != ast.dump(named):
        return False
    return isinstance(node, ast.Name) and _bound(program, one) == _bound(program, other)


def is_among(values: Values, others: Values) -> bool:
    """Tell whether all that something may be is certain, and among what another thing may be."""
    certain = all(_is_certain(value) for value in values)
    return bool(values) and certain and set(values) <= set(others)


def _is_certain(value: Value) -> bool:
    """Tell whether two equal values mean the same object; equal numbers do not."""
    if isinstance(value, Unknown | Literal):
        return False
    if isinstance(value, Item | Member):
        return _is_certain(value.of)
    return True


def _bound(program: Program, place: Place) -> list[ast.AST]:
    module, node = place
    assert isinstance(node, ast.Name)
    return [b.node for b in program.files.bindings(module).reaching(node, node.id)] or [node]
