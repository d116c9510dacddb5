"""What parts and attributes of data look like: `x[0]`, `x[:, None]`, `frame["label"].values`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from quickfit.shapes.shapes import (
    SCALAR,
    Array,
    Named,
    Parts,
    Side,
    Stream,
    Table,
    Thing,
    as_array,
    row,
)

if TYPE_CHECKING:
    from quickfit.shapes.questions import Question


def item(thing: Thing | None, index: object) -> Thing | None:
    """Return the part of something that stands at a position or under a name."""
    if isinstance(thing, Parts):
        is_there = type(index) is int and -len(thing.items) <= index < len(thing.items)
        return thing.items[index] if is_there and type(index) is int else None
    if isinstance(thing, Named):
        return thing.get(index)
    if isinstance(thing, Table):
        return Table(is_column=True) if isinstance(index, str) and not thing.is_column else None
    return row(thing) if isinstance(thing, Array) and type(index) is int else None


def attribute(thing: Thing | None, name: str) -> Thing | None:
    """Return an attribute of something."""
    if isinstance(thing, Table):
        return as_array(thing) if name == "values" else None
    if not isinstance(thing, Array):
        return None
    if name == "T":
        return thing.shaped(reversed(thing.sides))
    return SCALAR if name in ("size", "ndim") else None


def picked(question: Question) -> Thing | None:
    """Return what a subscript gives."""
    node = question.node
    assert isinstance(node, ast.Subscript)
    shaping, module, env = question.shaping, question.module, question.env
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return SCALAR if not isinstance(node.slice, ast.Slice) else None
    base = shaping.of(module, node.value, env)
    if isinstance(base, Array):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _indexed(base, parts, question)
    if isinstance(base, Parts) and isinstance(node.slice, ast.Slice) and base.is_list:
        found = as_array(base)
        return found.shaped((None, *found.sides[1:])) if found is not None else None
    if isinstance(base, Table) and isinstance(node.slice, ast.List):
        return base
    if base is None or isinstance(base, Stream) or isinstance(node.slice, ast.Slice):
        return None
    return item(base, shaping.program.literal(module, node.slice))


def _indexed(base: Array, parts: list[ast.expr], question: Question) -> Array | None:
    """Return what indices, slices and new axes leave of an array."""
    left, sides, lists = list(base.sides), list[Side](), 0
    for number, part in enumerate(parts):
        if _is_new_axis(part, question):
            sides.append(1)
            continue
        if isinstance(part, ast.Constant) and part.value is ...:
            behind = [p for p in parts[number + 1 :] if not _is_new_axis(p, question)]
            count = len(left) - len(behind)
            sides, left = sides + left[:count], left[count:]
            continue
        if not left:
            return None
        side = left.pop(0)
        if isinstance(part, ast.Slice):
            sides.append(side if _is_whole(part) else None)
            continue
        index = as_array(question.shaping.of(question.module, part, question.env))
        if index is None or index.rank > 1:
            return None
        lists += index.rank
        sides += [None] * index.rank
    is_batch = isinstance(parts[0], ast.Slice)
    return base.shaped([*sides, *left], is_batch=is_batch) if lists <= 1 else None


def _is_whole(part: ast.Slice) -> bool:
    return part.lower is None and part.upper is None and part.step is None


def _is_new_axis(part: ast.expr, question: Question) -> bool:
    if isinstance(part, ast.Constant):
        return part.value is None
    name = question.shaping.program.name(question.module, part)
    return name.endswith(".newaxis")
