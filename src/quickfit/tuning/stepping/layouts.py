"""Names and shapes of what is in a batch, for messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# A batch holds whatever the user's data holds: arrays, tensors, lists and dicts of them.


def named_leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield everything in a value with the expression that reaches it: `x['image']`, `y[1]`."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from named_leaves(f"{name}[{key!r}]", one)
    elif isinstance(value, (list, tuple)):
        for index, one in enumerate(value):
            yield from named_leaves(f"{name}[{index}]", one)
    elif value is not None:
        yield name, value


def shapes_of(value: Any) -> str:
    """Return the shapes of a value as text: `(32, 10)`, or one per name."""
    if value is None:
        return "None (no y was given)"
    leaves = list(named_leaves("", value))
    if len(leaves) == 1 and not leaves[0][0]:
        return _shape(value)
    return ", ".join(f"{name}: {_shape(one)}" for name, one in leaves)


def _shape(leaf: Any) -> str:
    shape = getattr(leaf, "shape", None)
    if shape is None or getattr(shape, "rank", 0) is None:
        return "unknown"
    return str(tuple("batch" if size is None else size for size in shape)).replace("'", "")
