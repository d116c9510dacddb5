"""What a user's function gave back, taken apart into arrays: without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

# None for an array, a tuple or a dict of structures.
Structure: TypeAlias = "tuple[Structure, ...] | dict[str, Structure] | None"
# Any: NumPy's arrays of every type.
Array: TypeAlias = "np.ndarray[Any, Any]"

# Text has no fixed size: it is kept as objects, as NumPy does.
TEXT = np.dtype(object)
_NUMBERS = "biufc"


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


def leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield what is no tuple or dict, with its place: `[0]`, `['image']`; dicts by sorted key."""
    if isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from leaves(part, f"{name}[{number}]")
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from leaves(value[key], f"{name}[{key!r}]")
    else:
        yield name, value


def packed(structure: Structure, arrays: Iterator[Any]) -> Any:
    """Return the arrays nested as `structure` says; the inverse of `leaves`. Any: nested."""
    if structure is None:
        return next(arrays)
    if isinstance(structure, tuple):
        return tuple(packed(part, arrays) for part in structure)
    return {key: packed(part, arrays) for key, part in structure.items()}


def described(structure: Structure) -> str:
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
        array = _number(value, name)
    elif isinstance(value, str | bytes):
        array = np.asarray(value, dtype=TEXT)
    else:
        array = _converted(value, name)
    return _checked(array, name)


def _number(value: int | float, name: str) -> Array:
    try:
        return np.asarray(value, dtype=np.float32 if isinstance(value, float) else np.int64)
    except OverflowError:
        raise UnusableResultError(f"the number it returned{_at(name)} has over 64 bits") from None


def _converted(value: object, name: str) -> Array:
    if value is None:
        raise UnusableResultError(f"it returned None{_at(name)}; is a `return` missing?")
    is_array = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    if not is_array and not isinstance(value, Sequence):
        raise UnusableResultError(
            f"it returned a {type(value).__name__}{_at(name)}, which is no array, number or text"
        )
    try:
        return np.asarray(value)
    except (ValueError, TypeError, NotImplementedError) as error:
        hint = ". Return a tuple to keep its parts apart" if isinstance(value, list) else ""
        raise UnusableResultError(
            f"the {type(value).__name__} it returned{_at(name)} is no array: {error}{hint}"
        ) from None


def _checked(array: Array, name: str) -> Array:
    # Kind "V" with a name of its own: bfloat16 and the 8-bit floats.
    if array.dtype.kind in _NUMBERS or (array.dtype.kind == "V" and array.dtype.names is None):
        return array
    if array.dtype.kind in "USO":
        return _text(array, name)
    raise UnusableResultError(f"the array it returned{_at(name)} has dtype {array.dtype}")


def _text(array: Array, name: str) -> Array:
    text = np.empty(array.shape, dtype=TEXT)
    for place in np.ndindex(array.shape):
        value = array[place]
        if not isinstance(value, str | bytes):
            raise UnusableResultError(
                f"the array it returned{_at(name)} holds a {type(value).__name__}: only arrays of"
                " numbers or of texts can become tensors"
            )
        text[place] = value.encode(errors="surrogateescape") if isinstance(value, str) else value
    return text


def _at(name: str) -> str:
    return f" at {name}" if name else ""
