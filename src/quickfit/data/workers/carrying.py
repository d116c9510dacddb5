"""The user's function on its way to the workers, which never import the script again."""

from __future__ import annotations

import functools
import inspect
import io
import mmap
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from quickfit.data.workers.layout import ALIGNMENT_BYTES
from quickfit.data.workers.memory import anonymous_file

_HEAD = struct.Struct("<Q")


class NotCarriedError(Exception):
    """Something cannot be taken to another process; the text says what."""


def parcel(content: object) -> int:
    """Return the descriptor of a file in memory that holds `content`.

    Large arrays that the function refers to lie in the file as they are, and all workers share
    them there.

    Raises:
        NotCarriedError: part of it exists only in this process.
    """
    buffers: list[pickle.PickleBuffer] = []
    body = io.BytesIO()
    try:
        _dump(content, body, buffers.append)
    except Exception as error:  # noqa: BLE001 - objects of users and libraries refuse in any way
        raise NotCarriedError(_line(error)) from None
    pieces = [body.getbuffer(), *(buffer.raw() for buffer in buffers)]
    index = pickle.dumps([piece.nbytes for piece in pieces])
    descriptor = anonymous_file("function")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(_HEAD.pack(len(index)) + index)
        for piece in pieces:
            file.seek(_aligned(file.tell()))
            file.write(piece)
    return descriptor


def opened(descriptor: int) -> Any:  # Any: what `parcel` was given
    """Return what a parcel holds; its arrays can be written to, and others do not see it."""
    size = os.fstat(descriptor).st_size
    memory = memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY))
    (index_bytes,) = _HEAD.unpack_from(memory)
    place = _HEAD.size + index_bytes
    pieces = []
    for piece_bytes in pickle.loads(memory[_HEAD.size : place]):
        place = _aligned(place)
        pieces.append(memory[place : place + piece_bytes])
        place += piece_bytes
    return pickle.loads(pieces[0], buffers=pieces[1:])


def culprit(function: object, items: object, setup: object) -> str | None:
    """Return in words which part of what the user gave cannot go to another process."""
    for name, value in (("items", items), ("`setup`", setup), ("the function", function)):
        reason = _refusal(value)
        if reason is None:
            continue
        for inner_name, inner in _parts(value):
            if _refusal(inner) is not None:
                return f"{inner_name} (a {type(inner).__name__}) exists only in this process"
        return f"{name} cannot be pickled ({reason})"
    return None


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _refusal(value: object) -> str | None:
    try:
        _dump(value, io.BytesIO(), lambda buffer: None)
    except Exception as error:  # noqa: BLE001 - objects of users and libraries refuse in any way
        return _line(error)
    return None


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _parts(value: Any) -> Iterator[tuple[str, object]]:  # Any: the user's
    """Yield what a function refers to, with the name the user gave it."""
    if isinstance(value, functools.partial):
        yield from _parts(value.func)
        yield from ((f"argument {n} of the partial", part) for n, part in enumerate(value.args))
        yield from ((f"argument `{n}` of the partial", p) for n, p in value.keywords.items())
    elif inspect.ismethod(value):
        yield from _parts(value.__self__)
        yield from _parts(value.__func__)
    elif inspect.isfunction(value):
        used = inspect.getclosurevars(value)
        for name, part in {**used.globals, **used.nonlocals}.items():
            yield f"`{name}`, which `{value.__name__}` uses,", part
    elif isinstance(value, list | tuple):
        yield from ((f"items[{number}]", part) for number, part in enumerate(value))
    elif hasattr(value, "__dict__"):
        kind = type(value).__name__
        yield from ((f"`{name}` of the {kind}", part) for name, part in vars(value).items())


def _dump(value: object, file: io.BytesIO, keep: Callable[[pickle.PickleBuffer], object]) -> None:
    import cloudpickle

    pickler = _pickler()(file, protocol=5, buffer_callback=keep)
    try:
        pickler.dump(value)
    finally:
        for module in pickler.by_value:
            cloudpickle.unregister_pickle_by_value(module)


@functools.cache
def _pickler() -> Callable[..., Any]:  # Any: cloudpickle tells no types
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle tells no types
        """Takes functions of the script along by value, and Keras's base class not at all."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.by_value: list[ModuleType] = []

        def reducer_override(self, value: Any) -> Any:
            if is_py_dataset_base(value):
                # The real one would load Keras, and TensorFlow with it, in every worker.
                return _stand_in, ()
            if isinstance(value, FunctionType | type):
                self._see_module(sys.modules.get(str(value.__module__)))
            return super().reducer_override(value)

        def _see_module(self, module: ModuleType | None) -> None:
            # A module made by hand (by a test runner, by exec) cannot be imported by a worker.
            if module is not None and module not in self.by_value and not _is_found(module):
                cloudpickle.register_pickle_by_value(module)
                self.by_value.append(module)

    return Pickler


@functools.cache
def _is_found_named(name: str) -> bool:
    return name in sys.stdlib_module_names or any(
        finder.find_spec(name, None) is not None
        for finder in sys.meta_path
        if hasattr(finder, "find_spec")
    )


def _is_found(module: ModuleType) -> bool:
    return module.__name__ == "__main__" or _is_found_named(module.__name__.partition(".")[0])


def is_py_dataset_base(value: object) -> bool:
    """Return whether this is Keras 3's own `PyDataset` class."""
    return (
        isinstance(value, type)
        and value.__name__ == "PyDataset"
        and value.__module__.startswith("keras.")
    )


def _stand_in() -> type:
    from quickfit.data.workers.standing_in import PyDataset

    return PyDataset
