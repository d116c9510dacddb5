"""How many examples one element holds: the rows of a batch, or one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
    batched = looks_batched(first) if is_batched is None else is_batched
    if not batched or rows(first) is None:
        return lambda element: 1
    return lambda element: rows(element) or 1


def looks_batched(element: Any) -> bool:
    """Tell whether an element looks like a batch.

    Inputs and labels of a batch have as many rows as each other; a single picture with its mask
    has that too, so labels must be a list of numbers or of vectors.
    """
    shapes = [_shape(leaf) for leaf in leaves(element)]
    known = [shape for shape in shapes if shape is not None]
    if not known or any(not shape for shape in known):
        return False
    if len(known) == 1:
        return len(known[0]) >= 4  # pictures, and more than one of them
    return len({shape[0] for shape in known}) == 1 and len(known[-1]) <= 2


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
    shape = getattr(leaf, "shape", None)
    if shape is None:
        return None
    try:
        sides = [int(side) if side is not None else 0 for side in shape]
    except (TypeError, ValueError):  # of unknown rank
        return None
    return tuple(sides)
