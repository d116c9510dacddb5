"""Where each array of a result lies in a piece of memory, and whether a result fits there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import Any, TypeAlias

import numpy as np

from quickfit.data.workers.results import (
    TEXT,
    Array,
    Structure,
    UnusableResultError,
    as_array,
    described,
    leaves,
    structure_of,
)

# TensorFlow takes memory over without a copy where it begins at a multiple of this.
ALIGNMENT_BYTES = 64
Shape: TypeAlias = "tuple[int | None, ...]"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of a result.

    Args:
        name: its place in the result, for messages: `[0]`, `['image']`; empty if it is alone.
        dtype: its type; `TEXT` for text.
        shape: its shape; None where any length will do.
    """

    name: str
    dtype: np.dtype[Any]  # Any: of every type
    shape: Shape

    @property
    def is_text(self) -> bool:
        """Whether it is text, which has no place in shared memory."""
        return self.dtype == TEXT


@dataclass(frozen=True, slots=True)
class Layout:
    """What every result must look like.

    Args:
        structure: how its arrays are nested.
        leaves: its arrays.
        rows: results side by side in one piece of memory; None for one result of any shape.
    """

    structure: Structure
    leaves: tuple[Leaf, ...]
    rows: int | None

    def arrays(self, value: object) -> list[Array]:
        """Return the arrays of a result, with their types made right.

        Raises:
            UnusableResultError: it does not look like this layout.
        """
        found = structure_of(value)
        if found != self.structure:
            raise UnusableResultError(
                f"it returned {described(found)}, and {described(self.structure)} is expected"
            )
        pairs = zip(self.leaves, leaves(value), strict=True)
        return [_fitted(leaf, as_array(part, name)) for leaf, (name, part) in pairs]

    def batch_shapes(self) -> list[tuple[int, ...]]:
        """Return the shape of each array with all rows in it."""
        rows = self.rows or 0
        return [(rows, *(length or 0 for length in leaf.shape)) for leaf in self.leaves]


def layout_of(value: object, *, rows: int | None, first_varies: bool = False) -> Layout:
    """Return the layout that a first result suggests.

    With rows, all results have its shapes. Without, every length may change; with
    `first_varies`, only the first, which is the number of examples in a batch.
    """
    found = []
    for name, part in leaves(value):
        array = as_array(part, name)
        shape: Shape = array.shape
        if rows is None:
            shape = (None, *shape[1:]) if first_varies and shape else (None,) * len(shape)
        found.append(Leaf(name, array.dtype.newbyteorder("="), shape))
    structure = structure_of(value)
    if not found:
        raise UnusableResultError(f"it returned {described(structure)}")
    return Layout(structure, tuple(found), rows)


def bytes_needed(layout: Layout, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the memory that arrays of these shapes take."""
    return max(_offsets(layout, shapes)[-1], 1)


def views(layout: Layout, shapes: Sequence[tuple[int, ...]], memory: mmap) -> list[Array]:
    """Return arrays of these shapes that lie in `memory`; of no size where the leaf is text."""
    return [
        np.empty(0, TEXT)
        if leaf.is_text
        else np.ndarray(shape, leaf.dtype, buffer=memory, offset=offset)
        for leaf, shape, offset in zip(
            layout.leaves, shapes, _offsets(layout, shapes), strict=False
        )
    ]


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:  # Any: of every type
    """Return a new array that TensorFlow can take over without a copy."""
    if dtype == TEXT:
        return np.empty(shape, dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT_BYTES, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT_BYTES
    return memory[start : start + size].view(dtype).reshape(shape)


def _offsets(layout: Layout, shapes: Iterable[tuple[int, ...]]) -> list[int]:
    offsets = [0]
    for leaf, shape in zip(layout.leaves, shapes, strict=True):
        size = 0 if leaf.is_text else math.prod(shape) * leaf.dtype.itemsize
        offsets.append(offsets[-1] + -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES)
    return offsets


def _fitted(leaf: Leaf, array: Array) -> Array:
    where = f" at {leaf.name}" if leaf.name else ""
    if not _has_shape(array.shape, leaf.shape):
        raise UnusableResultError(
            f"its array{where} has shape {shape_text(array.shape)}, and"
            f" {shape_text(leaf.shape)} is expected"
        )
    if array.dtype == leaf.dtype:
        return array
    if array.dtype == TEXT or leaf.is_text or not _can_become(array, leaf.dtype):
        raise UnusableResultError(
            f"its array{where} is {_type_text(array.dtype)}, and {_type_text(leaf.dtype)} is"
            " expected"
        )
    return array.astype(leaf.dtype)


def _can_become(array: Array, dtype: np.dtype[Any]) -> bool:  # Any: of every type
    if np.can_cast(array.dtype, dtype, "same_kind"):
        return True
    # A label that is a Python number: what counts is whether this number is kept.
    with np.errstate(all="ignore"):
        return array.ndim == 0 and bool(array.astype(dtype) == array)


def _has_shape(found: tuple[int, ...], expected: Shape) -> bool:
    return len(found) == len(expected) and all(
        want is None or have == want for have, want in zip(found, expected, strict=True)
    )


def shape_text(shape: Shape) -> str:
    """Return a shape as people write it: `[224, 224, 3]`, `[any, 3]`."""
    return "[" + ", ".join("any" if length is None else str(length) for length in shape) + "]"


def _type_text(dtype: np.dtype[Any]) -> str:  # Any: of every type
    return "text" if dtype == TEXT else str(dtype)
