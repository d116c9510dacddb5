"""How many examples one element holds: the rows of a batch, or one."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

# Grey, colour, and colour with transparency.
_CHANNELS = (1, 3, 4)


def counter(
    first: Any, *, is_batched: bool | None, batch_size: int | None = None
) -> Callable[[Any], int]:
    """Return a function that counts the examples of an element.

    Args:
        first: an element, to learn from what they look like (anybody's, hence Any).
        is_batched: whether an element is a batch; None where only its looks can tell.
        batch_size: what the user said that an element holds.
    """
    if batch_size is not None:
        return lambda element: batch_size
    place = _place_of_rows(first) if is_batched is None else None
    if is_batched and rows(first) is not None:
        return lambda element: rows(element) or 1
    if place is None:
        return lambda element: 1
    return lambda element: _rows_at(element, place)


def looks_batched(element: Any) -> bool:
    """Tell whether an element looks like a batch, which is what `fit` takes from a generator."""
    return _place_of_rows(element) is not None


def _place_of_rows(element: Any) -> int | None:
    """Return which array of an element has a row per example; None if the element is no batch.

    It is the first with two axes or more, or, of several lists, any if they are equally long. A
    number beside it says that the element is a single example; so does a picture without a row of
    others, alone or with its mask.
    """
    shapes = [_shape(leaf) for leaf in leaves(element)]
    known = [shape for shape in shapes if shape is not None]
    if not known or any(not shape for shape in known):
        return None
    wide = [shape for shape in known if len(shape) >= 2]
    if not wide:
        is_equal = len(known) > 1 and len({shape[0] for shape in known}) == 1
        return shapes.index(known[0]) if is_equal else None
    if _is_picture(wide[0]) and not _has_rows_beside(known):
        return None
    return shapes.index(wide[0])


def _is_picture(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and shape[-1] in _CHANNELS


def _has_rows_beside(shapes: list[tuple[int, ...]]) -> bool:
    """Tell whether there are labels, one for each row of the first array."""
    is_equal = len({shape[0] for shape in shapes}) == 1
    return is_equal and any(len(shape) <= 2 for shape in shapes)


def _rows_at(element: Any, place: int) -> int:
    found = leaves(element)
    shape = _shape(found[place]) if place < len(found) else None
    return shape[0] if shape else 1


def rows(element: Any) -> int | None:
    """Return the length of an element's first array along its first axis."""
    for leaf in leaves(element):
        shape = _shape(leaf)
        if shape:
            return shape[0]
    return None


def leaves(element: Any) -> list[Any]:
    """Return the arrays of an element, however they are nested."""
    if isinstance(element, dict):
        return [leaf for key in element for leaf in leaves(element[key])]
    if isinstance(element, tuple | list):
        return [leaf for part in element for leaf in leaves(part)]
    parts = getattr(element, "values", None)
    if isinstance(parts, tuple):  # one part per replica
        return [leaf for part in parts for leaf in leaves(part)]
    return [] if element is None else [element]


def _shape(leaf: Any) -> tuple[int, ...] | None:
    if isinstance(leaf, Number | str | bytes):
        return ()
    shape = getattr(leaf, "shape", None)
    if shape is None:
        return None
    try:
        sides = [int(side) if side is not None else 0 for side in shape]
    except (TypeError, ValueError):  # of unknown rank
        return None
    return tuple(sides)
