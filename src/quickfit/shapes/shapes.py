"""What is known of the shape of data: arrays, tuples and dictionaries of them, streams of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from quickfit.program.module import Module

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


def merged(things: Iterable[Thing | None]) -> Thing | None:
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


def each(thing: Thing | None, change: Callable[[Array], Array | None]) -> Thing | None:
    """Return a structure with every array in it changed."""
    if isinstance(thing, Array):
        return change(thing)
    if isinstance(thing, Parts):
        return Parts(tuple(each(item, change) for item in thing.items), is_list=thing.is_list)
    if isinstance(thing, Named):
        return Named(tuple((name, each(item, change)) for name, item in thing.items))
    return None


def row(thing: Thing | None) -> Thing | None:
    """Return what a loop over something gets."""
    if isinstance(thing, Array) and thing.sides:
        return thing.shaped(thing.sides[1:])
    if isinstance(thing, Stream):
        return thing.element
    if isinstance(thing, Parts):
        return merged(thing.items)
    return None


def as_array(thing: Thing | None) -> Array | None:
    """Return the array that `np.array` makes of something."""
    if isinstance(thing, Array):
        return replace(thing, is_list=False)
    if isinstance(thing, Parts) and thing.items:
        inner = as_array(merged(as_array(item) for item in thing.items))
        return inner.shaped((len(thing.items), *inner.sides)) if inner is not None else None
    if isinstance(thing, Table):
        return Array((None,) if thing.is_column else (None, None))
    return Array(thing.sides) if isinstance(thing, Picture) else None


def stretched(one: Array | None, other: Array | None) -> Array | None:
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


def written(sides: Shape, *, first: str = "batch") -> str:
    """Return a shape as one writes it: `(batch, 28, 1)`; a side of any length is `?`."""
    rest = ["?" if side is None else str(side) for side in sides[1:]]
    names = [first, *rest] if sides else []
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"
