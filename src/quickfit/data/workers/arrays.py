"""Results of a user's function as arrays: taken apart, and laid out in memory."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import Any, TypeAlias

import numpy as np

# None for an array, a tuple or a dict of structures.
Structure: TypeAlias = "tuple[Structure, ...] | dict[str, Structure] | None"
# Any: NumPy's arrays of every type.
Array: TypeAlias = "np.ndarray[Any, Any]"

# Text has no fixed size: it is kept as objects, as NumPy does.
TEXT_DTYPE = np.dtype(object)
_NUMBERS = "biufc"
# TensorFlow takes memory over without a copy where it begins at a multiple of this.
ALIGNMENT_BYTES = 64
_Shape: TypeAlias = "tuple[int | None, ...]"
# Below this, Python's own memory is used again anyway.
_WORTH_BYTES = 1 << 17
# More than TensorFlow holds at a time is not kept for it.
_MOST_FREE = 8


class UnusableResultError(Exception):
    """A result cannot become tensors; the text says why. Becomes the failure of its item."""


def structure_of(value: object, name: str = "") -> Structure:
    """Return how tuples and dicts are nested in a result."""
    if isinstance(value, tuple):
        return tuple(structure_of(part, f"{name}[{n}]") for n, part in enumerate(value))
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str)]
        if odd:
            raise UnusableResultError(
                f"the dict{name and ' ' + name} has the key {odd[0]!r}, and only texts can be keys"
            )
        return {key: structure_of(value[key], f"{name}[{key!r}]") for key in sorted(value)}
    return None


def flatten_result(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield what is no tuple or dict, with its place: `[0]`, `['image']`; dicts by sorted key."""
    if isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from flatten_result(part, f"{name}[{number}]")
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from flatten_result(value[key], f"{name}[{key!r}]")
    else:
        yield name, value


def pack_result(structure: Structure, arrays: Iterator[Any]) -> Any:
    """Return the arrays nested as `structure` says; the inverse of `leaves`. Any: nested."""
    if structure is None:
        return next(arrays)
    if isinstance(structure, tuple):
        return tuple(pack_result(part, arrays) for part in structure)
    return {key: pack_result(part, arrays) for key, part in structure.items()}


def describe_structure(structure: Structure) -> str:
    """Return a structure in words: `a tuple of 2`, `a dict with 'image', 'label'`."""
    if structure is None:
        return "one array"
    if isinstance(structure, tuple):
        return f"a tuple of {len(structure)}"
    return "a dict with " + (", ".join(map(repr, structure)) or "nothing in it")


def as_array(value: object, name: str) -> Array:
    """Return a leaf as an array of numbers, or of `bytes` objects for text.

    Python's own numbers become what TensorFlow's users expect: float32, int64, bool.
    """
    if isinstance(value, np.ndarray | np.generic):
        array: Array = np.asarray(value)
    elif isinstance(value, bool):
        array = np.asarray(value)
    elif isinstance(value, int | float):
        array = _number_array(value, name)
    elif isinstance(value, str | bytes):
        array = np.asarray(value, dtype=TEXT_DTYPE)
    else:
        array = _convert_array(value, name)
    return _check_array(array, name)


def _number_array(value: int | float, name: str) -> Array:
    try:
        return np.asarray(value, dtype=np.float32 if isinstance(value, float) else np.int64)
    except OverflowError:
        raise UnusableResultError(
            f"the number it returned{_format_place(name)} has over 64 bits"
        ) from None


def _convert_array(value: object, name: str) -> Array:
    if value is None:
        raise UnusableResultError(f"it returned None{_format_place(name)}; is a `return` missing?")
    is_array = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    if not is_array and not isinstance(value, Sequence):
        raise UnusableResultError(
            f"it returned a {type(value).__name__}{_format_place(name)}, which is no array, "
            "number or text"
        )
    try:
        return np.asarray(value)
    except (ValueError, TypeError, NotImplementedError) as error:
        hint = ". Return a tuple to keep its parts apart" if isinstance(value, list) else ""
        raise UnusableResultError(
            f"the {type(value).__name__} it returned{_format_place(name)} is no array: "
            f"{error}{hint}"
        ) from None


def _check_array(array: Array, name: str) -> Array:
    # Kind "V" with a name of its own: bfloat16 and the 8-bit floats.
    if array.dtype.kind in _NUMBERS or (array.dtype.kind == "V" and array.dtype.names is None):
        return array
    if array.dtype.kind in "USO":
        return _text_array(array, name)
    raise UnusableResultError(f"the array it returned{_format_place(name)} has dtype {array.dtype}")


def _text_array(array: Array, name: str) -> Array:
    text = np.empty(array.shape, dtype=TEXT_DTYPE)
    for place in np.ndindex(array.shape):
        value = array[place]
        if not isinstance(value, str | bytes):
            raise UnusableResultError(
                f"the array it returned{_format_place(name)} holds a {type(value).__name__}: "
                "only arrays of"
                " numbers or of texts can become tensors"
            )
        text[place] = value.encode(errors="surrogateescape") if isinstance(value, str) else value
    return text


def _format_place(name: str) -> str:
    return f" at {name}" if name else ""


@dataclass(frozen=True, slots=True)
class LeafLayout:
    """One array of a result.

    Args:
        name: its place in the result, for messages: `[0]`, `['image']`; empty if it is alone.
        dtype: its type; `TEXT` for text.
        shape: its shape; None where any length will do.
    """

    name: str
    dtype: np.dtype[Any]  # Any: of every type
    shape: _Shape

    @property
    def is_text(self) -> bool:
        """Whether it is text, which has no place in shared memory."""
        return self.dtype == TEXT_DTYPE


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """What every result must look like.

    Args:
        structure: how its arrays are nested.
        leaves: its arrays.
        rows: results side by side in one piece of memory; None for one result of any shape.
    """

    structure: Structure
    leaves: tuple[LeafLayout, ...]
    rows: int | None

    def arrays(self, value: object) -> list[Array]:
        """Return the arrays of a result, with their types made right.

        Raises:
            UnusableResultError: it does not look like this layout.
        """
        found = structure_of(value)
        if found != self.structure:
            raise UnusableResultError(
                f"it returned {describe_structure(found)}, and "
                f"{describe_structure(self.structure)} is expected"
            )
        pairs = zip(self.leaves, flatten_result(value), strict=True)
        return [_fit_array(leaf, as_array(part, name)) for leaf, (name, part) in pairs]

    def batch_shapes(self) -> list[tuple[int, ...]]:
        """Return the shape of each array with all rows in it."""
        rows = self.rows or 0
        return [(rows, *(length or 0 for length in leaf.shape)) for leaf in self.leaves]


def find_layout(value: object, *, rows: int | None, first_varies: bool = False) -> BatchLayout:
    """Return the layout that a first result suggests.

    With rows, all results have its shapes. Without, every length may change; with
    `first_varies`, only the first, which is the number of examples in a batch.
    """
    found = []
    for name, part in flatten_result(value):
        array = as_array(part, name)
        shape: _Shape = array.shape
        if rows is None:
            shape = (None, *shape[1:]) if first_varies and shape else (None,) * len(shape)
        found.append(LeafLayout(name, array.dtype.newbyteorder("="), shape))
    structure = structure_of(value)
    if not found:
        raise UnusableResultError(f"it returned {describe_structure(structure)}")
    return BatchLayout(structure, tuple(found), rows)


def bytes_needed(layout: BatchLayout, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the memory that arrays of these shapes take."""
    return max(_leaf_offsets(layout, shapes)[-1], 1)


def memory_views(
    layout: BatchLayout, shapes: Sequence[tuple[int, ...]], memory: mmap
) -> list[Array]:
    """Return arrays of these shapes that lie in `memory`; of no size where the leaf is text."""
    return [
        np.empty(0, TEXT_DTYPE)
        if leaf.is_text
        else np.ndarray(shape, leaf.dtype, buffer=memory, offset=offset)
        for leaf, shape, offset in zip(
            layout.leaves, shapes, _leaf_offsets(layout, shapes), strict=False
        )
    ]


def aligned_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:  # Any: of every type
    """Return a new array that TensorFlow can take over without a copy."""
    if dtype == TEXT_DTYPE:
        return np.empty(shape, dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT_BYTES, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT_BYTES
    return memory[start : start + size].view(dtype).reshape(shape)


def _leaf_offsets(layout: BatchLayout, shapes: Iterable[tuple[int, ...]]) -> list[int]:
    offsets = [0]
    for leaf, shape in zip(layout.leaves, shapes, strict=True):
        size = 0 if leaf.is_text else math.prod(shape) * leaf.dtype.itemsize
        offsets.append(offsets[-1] + -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES)
    return offsets


def _fit_array(leaf: LeafLayout, array: Array) -> Array:
    where = f" at {leaf.name}" if leaf.name else ""
    if not _has_shape(array.shape, leaf.shape):
        raise UnusableResultError(
            f"its array{where} has shape {format_shape(array.shape)}, and"
            f" {format_shape(leaf.shape)} is expected"
        )
    if array.dtype == leaf.dtype:
        return array
    if array.dtype == TEXT_DTYPE or leaf.is_text or not _can_become(array, leaf.dtype):
        raise UnusableResultError(
            f"its array{where} is {_format_type(array.dtype)}, and {_format_type(leaf.dtype)} is"
            " expected"
        )
    return array.astype(leaf.dtype)


def _can_become(array: Array, dtype: np.dtype[Any]) -> bool:  # Any: of every type
    if np.can_cast(array.dtype, dtype, "same_kind"):
        return True
    # A label that is a Python number: what counts is whether this number is kept.
    with np.errstate(all="ignore"):
        return array.ndim == 0 and bool(array.astype(dtype) == array)


def _has_shape(found: tuple[int, ...], expected: _Shape) -> bool:
    return len(found) == len(expected) and all(
        want is None or have == want for have, want in zip(found, expected, strict=True)
    )


def format_shape(shape: _Shape) -> str:
    """Return a shape as people write it: `[224, 224, 3]`, `[any, 3]`."""
    return "[" + ", ".join("any" if length is None else str(length) for length in shape) + "]"


def _format_type(dtype: np.dtype[Any]) -> str:  # Any: of every type
    return "text" if dtype == TEXT_DTYPE else str(dtype)


class BatchBuffers:
    """Arrays whose memory comes back when the last view of them is gone."""

    def __init__(self) -> None:
        self._free: dict[int, list[Array]] = {}

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:  # Any: of every type
        """Return an array for TensorFlow to keep as long as it likes; what is in it is not said."""
        size = math.prod(shape) * dtype.itemsize
        if dtype == TEXT_DTYPE or size < _WORTH_BYTES:
            return aligned_array(shape, dtype)
        free = self._free.setdefault(size, [])
        try:
            memory = free.pop()
        except IndexError:
            memory = aligned_array((size,), np.dtype(np.uint8))
        lease = _Lease(memory)
        weakref.finalize(lease, _give_back, free, memory).atexit = False
        return np.asarray(lease).view(dtype).reshape(shape)


class _Lease:
    """Stands between an array and its memory: no array, since NumPy would look through it."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, memory: Array) -> None:
        self.__array_interface__ = memory.__array_interface__


def _give_back(free: list[Array], memory: Array) -> None:
    if len(free) < _MOST_FREE:
        free.append(memory)
