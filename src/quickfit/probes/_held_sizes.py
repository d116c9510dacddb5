"""Sizes of what a script holds, read without running any code of the script's.

Containers are read with the methods of the built-in types, whatever a subclass does; arrays and
tensors tell their own size.
"""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

# Items of one container that are measured; the rest is taken to be like them.
MAX_ITEMS = 500
PLAIN = (bytes, bytearray, str, int, float, complex)
CONTAINERS = (list, dict, set, frozenset, tuple, deque)


def kind_of(cls: type) -> str:
    """Return what a holder is: the name of a built-in type, or `variable`, `array`, `tensor`."""
    return next((one.__name__ for one in CONTAINERS if issubclass(cls, one)), "") or (
        "variable" if is_variable(cls) else "array" if cls.__name__ == "ndarray" else "tensor"
    )


def length_of(value: Any) -> int:
    """Return how many things are in a container; anything else is one."""
    for cls in CONTAINERS:
        if issubclass(type(value), cls):
            return cls.__len__(value)
    return 1


def bound_of(value: Any) -> int | None:
    """Return how many things a container can hold; None without a bound."""
    return value.maxlen if type(value) is deque else None


def sample_of(value: Any) -> tuple[list[Any], float]:
    """Return items of a container, and how many of its items each stands for."""
    length = length_of(value)
    if not length:
        return [], 1.0
    cls = type(value)
    if issubclass(cls, list | tuple):
        base = list if issubclass(cls, list) else tuple
        items = base.__getitem__(value, slice(None, None, -(-length // MAX_ITEMS)))
    else:
        inside = dict.values(value) if issubclass(cls, dict) else _iterator(value)
        # One call from C: nothing is put in meanwhile.
        items = list(itertools.islice(inside, MAX_ITEMS))
    return list(items), length / max(len(items), 1)


def _iterator(value: Any) -> Iterator[Any]:
    base = next(one for one in (set, frozenset, deque) if issubclass(type(value), one))
    return base.__iter__(value)


def array_classes() -> set[type]:
    """Return the classes of arrays, as far as they are imported."""
    numpy: Any = sys.modules.get("numpy")
    return {numpy.ndarray} if numpy is not None else set()


def tensor_classes() -> set[type]:
    """Return the classes of tensors that have a value."""
    module = sys.modules.get("tensorflow.python.framework.ops")
    cls = getattr(module, "EagerTensor", None)
    return {cls} if isinstance(cls, type) else set()


def is_variable(cls: type) -> bool:
    """Tell whether a class is one of TensorFlow's variables."""
    module = sys.modules.get("tensorflow.python.ops.resource_variable_ops")
    base = getattr(module, "BaseResourceVariable", None)
    return isinstance(base, type) and issubclass(cls, base)


def tensor_bytes(tensor: Any) -> int:
    """Return the host memory of a tensor, as its shape and type tell."""
    if "CPU" not in tensor.device:
        return 0
    return int(tensor._num_elements()) * int(tensor.dtype.size or 0)


def variable_bytes(variable: Any) -> int:
    """Return the memory of a variable; one whose shape changes is asked for the one it has."""
    shape = variable.shape
    if not shape.is_fully_defined():
        handle = variable.handle
        operations: Any = sys.modules.get("tensorflow.python.ops.gen_resource_variable_ops")
        if operations is None or type(handle) not in tensor_classes():
            return 0
        shape = operations.variable_shape(handle).numpy()
        return int(shape.prod()) * int(variable.dtype.size or 0)
    return int(shape.num_elements() or 0) * int(variable.dtype.size or 0)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Return the names of an object, past anything its class does to attributes."""
    if issubclass(type(value), type):
        return dict(type.__getattribute__(value, "__dict__"))
    try:
        names = object.__getattribute__(value, "__dict__")
    except AttributeError:  # it has slots
        return None
    return names if type(names) is dict else None
