"""Says what the arguments of a trace were, from the types that TensorFlow compares calls by.

A nested argument becomes one leaf per part, named by its path: `batch['image']`, `x[0]`. Nothing
here keeps an object of the user alive or runs code of theirs: only scalars and strings of Python
itself are shown by value, anything else by its class and a number of ours.
"""

from __future__ import annotations

import enum
import functools
import weakref
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

# Leaves that are written down; a list of more arguments differs elsewhere than in the last ones.
MAX_LEAVES = 64
MAX_DEPTH = 12
MAX_NAME = 60
MAX_VALUE = 60
# Beyond this many bits Python may refuse to write a number in decimal.
MAX_BITS = 1024
# The usual leaves, told by name: looking for what they do not have costs more than the rest.
_LEAVES = frozenset(("TensorSpec", "Literal", "Weakref", "VariableSpec"))
_SCALARS = (bool, int, float, complex, str, bytes, range)


class Leaf(NamedTuple):
    """One argument, or a part of one.

    `kind` is `tensor`, `variable`, `python` (a value), `object` (an identity), `none` or
    `structure` (an empty container).
    """

    name: str
    kind: str
    value: str


class Numbers:
    """Gives objects numbers that are never used twice, without keeping the objects alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._last = 0

    def of(self, thing: Any) -> int:
        """Return the number of an object; a new one each time for what takes no weak reference."""
        known = self._known.get(id(thing))
        if known is not None and known[0]() is thing:
            return known[1]
        self._last += 1
        number = self._last
        try:
            forget = functools.partial(self._forget, id(thing), number)
            self._known[id(thing)] = (weakref.ref(thing, forget), number)
        except TypeError:
            pass
        return number

    def _forget(self, key: int, number: int, _: Any) -> None:
        known = self._known.get(key)
        # Another object may have taken its place in memory, and here, by now.
        if known is not None and known[1] == number:
            del self._known[key]


def leaves(function_type: Any, numbers: Numbers) -> tuple[list[Leaf], int]:
    """Return the first leaves of the arguments of a trace, and how many more there are."""
    found: list[Leaf] = []
    for parameter in function_type.parameters.values():
        kind = parameter.annotation
        if type(kind).__name__ in _LEAVES:
            found.append(Leaf(_cut(parameter.name, MAX_NAME), *_leaf(kind, numbers)))
        else:
            found.extend(_walk(parameter.name, kind, numbers, 0))
    return found[:MAX_LEAVES], max(len(found) - MAX_LEAVES, 0)


def _walk(name: str, kind: Any, numbers: Numbers, depth: int) -> Iterator[Leaf]:
    """Yield the leaves of a trace type; classes are told by what they hold."""
    is_leaf = type(kind).__name__ in _LEAVES or depth >= MAX_DEPTH
    parts = None if is_leaf else _parts(kind)
    if parts is None:
        yield Leaf(_cut(name, MAX_NAME), *_leaf(kind, numbers))
        return
    if not parts:
        yield Leaf(_cut(name, MAX_NAME), "structure", f"empty {type(kind).__name__}")
    for path, part in parts:
        yield from _walk(name + path, part, numbers, depth + 1)


def _parts(kind: Any) -> list[tuple[str, Any]] | None:
    """Return what a container holds, each part with its path; None for a leaf."""
    if hasattr(kind, "components_tuple"):  # List
        kind = kind.components_tuple
    if hasattr(kind, "named_attributes"):  # Attrs
        kind = kind.named_attributes
    element = getattr(kind, "_element_spec", None)  # an iterator, a dataset
    if element is not None:
        kind = element
        if not isinstance(kind, tuple | list | dict):
            return [("[]", kind)]
    if hasattr(kind, "attribute_names"):  # NamedTuple
        names = (f".{name}" for name in kind.attribute_names)
        return list(zip(names, kind.attributes.components, strict=False))
    if hasattr(kind, "mapping") or type(kind) is dict:
        items = (kind if type(kind) is dict else kind.mapping).items()
        return [(f"[{_shown(key) or type(key).__name__}]", part) for key, part in items]
    parts = kind if isinstance(kind, tuple | list) else getattr(kind, "components", None)
    if isinstance(parts, tuple | list):
        return [(f"[{place}]", part) for place, part in enumerate(parts)]
    return None


def _leaf(kind: Any, numbers: Numbers) -> tuple[str, str]:
    name = type(kind).__name__
    if name == "Weakref":
        return _object(kind._ref(), numbers)
    if name == "Literal":
        return _literal(kind.value)
    spec = name.removesuffix("Spec")
    # A type of the user's may have a shape that is something else.
    shape: Any = getattr(kind, "shape", None)
    dtype: Any = getattr(kind, "dtype", None)
    if hasattr(shape, "as_list") and isinstance(getattr(dtype, "name", None), str):
        text = f"{dtype.name}[{_dimensions(shape)}]"
        if spec == "Variable":
            # The same variable twice is another call than two of them.
            return "variable", f"{text} #{getattr(kind, 'alias_id', None)}"
        return "tensor", text if spec == "Tensor" else f"{spec} {text}"
    return "object", spec


def _dimensions(shape: Any) -> str:
    return "..." if shape.rank is None else ",".join(map(str, shape.as_list()))


def _literal(value: Any) -> tuple[str, str]:
    if value is None:
        return "none", "None"
    if type(value) is object:
        return "python", "nan"  # TensorFlow's mark for it: a NaN equals no other
    shown = _shown(value)
    return ("python", shown) if shown else ("object", type(value).__name__)


def _object(thing: Any, numbers: Numbers) -> tuple[str, str]:
    if thing is None:
        return "object", "an object that is gone"
    kind = type(thing)
    if isinstance(thing, enum.Enum):
        return "python", _cut(f"{kind.__name__}.{thing._name_}", MAX_VALUE)
    name = kind.__name__
    if kind in (FunctionType, type):
        name = f"{name} {thing.__qualname__.rsplit('<locals>.', 1)[-1]}"
    return "object", f"{_cut(name, MAX_VALUE)} #{numbers.of(thing)}"


def _shown(value: Any) -> str:
    """Return a scalar or string of Python's own as text; nothing for other classes."""
    if type(value) not in _SCALARS:
        return ""
    if type(value) is int and value.bit_length() > MAX_BITS:
        return _cut(hex(value), MAX_VALUE, hash(value))
    if type(value) in (str, bytes) and len(value) > MAX_VALUE:
        # Its hash tells it from another one that begins in the same way.
        return f"{value[: MAX_VALUE - 20]!r}... ({hash(value) & 0xFFFF:04x})"
    return repr(value)


def _cut(text: str, limit: int, mark: int | None = None) -> str:
    if len(text) <= limit:
        return text
    tail = "..." if mark is None else f"... ({mark & 0xFFFF:04x})"
    return text[: limit - len(tail)] + tail
