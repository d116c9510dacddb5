"""What an operator gives between two arrays, or two lists of Python's."""

from __future__ import annotations

import ast

from quickfit.program.module import Module
from quickfit.shapes.shapes import Array, Parts, Thing, as_array, stretched


def operated(
    node: ast.BinOp, things: tuple[Thing | None, Thing | None], place: tuple[Module, ast.expr]
) -> Thing | None:
    """Return what is known of the shape of `a + b`, `a @ b`, `[0] * 10`."""
    one, other = as_array(things[0]), as_array(things[1])
    lists = [t for t in things if isinstance(t, Array | Parts) and t.is_list]
    is_longer = isinstance(node.op, ast.Add) and len(lists) == 2
    if is_longer or (isinstance(node.op, ast.Mult) and len(lists) == 1 and _is_number(things)):
        # Lists of Python's are put one behind the other, or repeated.
        found = as_array(lists[0])
        if found is None or (is_longer and not _is_alike(one, other)):
            return None
        return Array((None, *found.sides[1:]), is_list=True, place=place)
    if isinstance(node.op, ast.MatMult):
        return _product(one, other)
    return stretched(one, other)


def _is_number(things: tuple[Thing | None, Thing | None]) -> bool:
    return any(isinstance(t, Array) and not t.sides for t in things)


def _is_alike(one: Array | None, other: Array | None) -> bool:
    return one is not None and other is not None and one.rank == other.rank


def _product(one: Array | None, other: Array | None) -> Array | None:
    """Return what a matrix gives with another one, or with a row of numbers."""
    if one is None or other is None or one.rank != 2 or other.rank not in (1, 2):
        return None
    return one.shaped((one.sides[0], *other.sides[1:]), is_batch=True)
