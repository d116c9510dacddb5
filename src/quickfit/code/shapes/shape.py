"""What is known of the shape of data, and of its parts and of operators between two of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from quickfit.code.module import Module

if TYPE_CHECKING:
    from quickfit.code.shapes.calls import Question

Side = int | None
Shape = tuple[Side, ...]


class Thing:
    """Data whose shape is known in part."""


@dataclass(frozen=True)
class Array(Thing):
    """An array, tensor, number or text; a side of None has any length.

    Args:
        sides: the lengths, the first one that of the batch or of all examples.
        is_list: it is a list of Python's yet, which Keras takes for several inputs.
        is_predicted: a model made it.
        is_batch: the first side is known to be that of a batch, as a dataset makes it.
        place: the call or literal that it comes from.
    """

    sides: Shape
    is_list: bool = field(default=False, compare=False)
    is_predicted: bool = field(default=False, compare=False)
    is_batch: bool = field(default=False, compare=False)
    place: tuple[Module, ast.expr] | None = field(default=None, compare=False)

    @property
    def rank(self) -> int:
        """The number of its sides."""
        return len(self.sides)

    def shaped(self, sides: Iterable[Side], *, is_batch: bool = False) -> Array:
        """Return what comes from it with other sides; `is_batch`: the first one is as it was."""
        is_kept = is_batch and self.is_batch
        return replace(self, sides=tuple(sides), is_list=False, is_batch=is_kept)

    def batched(self, size: Side) -> Array:
        """Return a batch of such arrays."""
        return replace(self, sides=(size, *self.sides), is_list=False, is_batch=True)


@dataclass(frozen=True)
class Picture(Thing):
    """An image of Pillow, which is an array only when it is made one."""

    sides: Shape


@dataclass(frozen=True)
class Parts(Thing):
    """A tuple, or a list that is written down."""

    items: tuple[Thing | None, ...]
    is_list: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Named(Thing):
    """A dictionary."""

    items: tuple[tuple[object, Thing | None], ...]

    def get(self, name: object) -> Thing | None:
        """Return what it has under a name."""
        return dict(self.items).get(name)


@dataclass(frozen=True)
class Stream(Thing):
    """A dataset or generator, and what it gives again and again."""

    element: Thing | None
    is_dataset: bool = False


@dataclass(frozen=True)
class Table(Thing):
    """A table of pandas, or a column of one."""

    is_column: bool = False


SCALAR = Array(())


def merge_shapes(things: Iterable[Thing | None]) -> Thing | None:
    """Return what is known of something that may be any of these."""
    found: Thing | None = None
    for number, thing in enumerate(things):
        found = thing if number == 0 else _both(found, thing)
        if found is None:
            return None
    return found


def _both(one: Thing | None, other: Thing | None) -> Thing | None:
    if isinstance(one, Array) and isinstance(other, Array) and one.rank == other.rank:
        pairs = zip(one.sides, other.sides, strict=True)
        is_predicted = one.is_predicted and other.is_predicted
        sides = tuple(a if a == b else None for a, b in pairs)
        is_batch = one.is_batch and other.is_batch
        return replace(one, sides=sides, is_predicted=is_predicted, is_batch=is_batch)
    if isinstance(one, Parts) and isinstance(other, Parts) and len(one.items) == len(other.items):
        items = zip(one.items, other.items, strict=True)
        return Parts(tuple(_both(a, b) for a, b in items), is_list=one.is_list)
    if isinstance(one, Stream) and isinstance(other, Stream):
        return Stream(_both(one.element, other.element), one.is_dataset and other.is_dataset)
    return one if one == other else None


def change_arrays(thing: Thing | None, change: Callable[[Array], Array | None]) -> Thing | None:
    """Return a structure with every array in it changed."""
    if isinstance(thing, Array):
        return change(thing)
    if isinstance(thing, Parts):
        return Parts(
            tuple(change_arrays(item, change) for item in thing.items), is_list=thing.is_list
        )
    if isinstance(thing, Named):
        return Named(tuple((name, change_arrays(item, change)) for name, item in thing.items))
    return None


def row_shape(thing: Thing | None) -> Thing | None:
    """Return what a loop over something gets."""
    if isinstance(thing, Array) and thing.sides:
        return thing.shaped(thing.sides[1:])
    if isinstance(thing, Stream):
        return thing.element
    if isinstance(thing, Parts):
        return merge_shapes(thing.items)
    return None


def as_array(thing: Thing | None) -> Array | None:
    """Return the array that `np.array` makes of something."""
    if isinstance(thing, Array):
        return replace(thing, is_list=False)
    if isinstance(thing, Parts) and thing.items:
        inner = as_array(merge_shapes(as_array(item) for item in thing.items))
        return inner.shaped((len(thing.items), *inner.sides)) if inner is not None else None
    if isinstance(thing, Table):
        return Array((None,) if thing.is_column else (None, None))
    return Array(thing.sides) if isinstance(thing, Picture) else None


def broadcast_shape(one: Array | None, other: Array | None) -> Array | None:
    """Return what arithmetic between two arrays gives."""
    if one is None or other is None:
        return None
    rank = max(one.rank, other.rank)
    pairs = zip(*((1,) * (rank - len(s)) + s for s in (one.sides, other.sides)), strict=True)
    sides = tuple(_longer(a, b) for a, b in pairs)
    larger = one if one.rank >= other.rank else other
    is_predicted = one.is_predicted or other.is_predicted
    return replace(larger, sides=sides, is_list=False, is_predicted=is_predicted)


def _longer(one: Side, other: Side) -> Side:
    if one == 1 or other == 1:
        return other if one == 1 else one
    return one if other is None else other


def shape_text(sides: Shape, *, first: str = "batch") -> str:
    """Return a shape as one writes it: `(batch, 28, 1)`; a side of any length is `?`."""
    rest = ["?" if side is None else str(side) for side in sides[1:]]
    names = [first, *rest] if sides else []
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def operator_shape(
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
    return broadcast_shape(one, other)


def _is_number(things: tuple[Thing | None, Thing | None]) -> bool:
    return any(isinstance(t, Array) and not t.sides for t in things)


def _is_alike(one: Array | None, other: Array | None) -> bool:
    return one is not None and other is not None and one.rank == other.rank


def _product(one: Array | None, other: Array | None) -> Array | None:
    """Return what a matrix gives with another one, or with a row of numbers."""
    if one is None or other is None or one.rank != 2 or other.rank not in (1, 2):
        return None
    return one.shaped((one.sides[0], *other.sides[1:]), is_batch=True)


def item_shape(thing: Thing | None, index: object) -> Thing | None:
    """Return the part of something that stands at a position or under a name."""
    if isinstance(thing, Parts):
        is_there = type(index) is int and -len(thing.items) <= index < len(thing.items)
        return thing.items[index] if is_there and type(index) is int else None
    if isinstance(thing, Named):
        return thing.get(index)
    if isinstance(thing, Table):
        return Table(is_column=True) if isinstance(index, str) and not thing.is_column else None
    return row_shape(thing) if isinstance(thing, Array) and type(index) is int else None


def attribute_shape(thing: Thing | None, name: str) -> Thing | None:
    """Return an attribute of something."""
    if isinstance(thing, Table):
        return as_array(thing) if name == "values" else None
    if not isinstance(thing, Array):
        return None
    if name == "T":
        return thing.shaped(reversed(thing.sides))
    return SCALAR if name in ("size", "ndim") else None


def picked_part(question: Question) -> Thing | None:
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
    return item_shape(base, shaping.program.literal(module, node.slice))


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
