"""The user's function: called by item or as a stream, seeded, and carried to other processes."""

from __future__ import annotations

import functools
import inspect
import io
import mmap
import os
import pickle
import random
import secrets
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from quickfit.data.workers.arrays import ALIGNMENT_BYTES
from quickfit.data.workers.messages import anonymous_file

_WORD = (1 << 64) - 1
_HEAD = struct.Struct("<Q")


def draw_seed() -> int:
    """Return a seed for those who gave none."""
    return secrets.randbits(63)


def item_seed(seed: int, epoch: int, index: int) -> int:
    """Return 64 bits that differ for every item of every epoch, and are the same again each run."""
    value = seed & _WORD
    for part in (epoch, index):
        # The step and the two multipliers of SplitMix64 (Steele, Lea and Flood 2014).
        value = (value + (part + 1) * 0x9E3779B97F4A7C15) & _WORD
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
        value ^= value >> 31
    return value


def item_order(count: int, *, seed: int, epoch: int, shuffle: bool) -> Sequence[int]:
    """Return the items of an epoch in their order, each exactly once."""
    if not shuffle:
        return range(count)
    drawer = np.random.default_rng(item_seed(seed, epoch, count))
    permuted: list[int] = drawer.permutation(count).tolist()
    return permuted


def seed_all(value: int) -> None:
    """Seed Python's and NumPy's shared sources of chance in this process."""
    random.seed(value)
    np.random.seed(value & 0xFFFFFFFF)


class StreamEnded(Exception):  # noqa: N818 - it is the end of the data, not an error
    """The user's generator has no more elements."""


class WorkerJob(Protocol):
    """The work of a worker. It is carried to every worker once."""

    @property
    def seed(self) -> int:
        """What all chance comes from."""

    def prepare(self) -> None:
        """Run what the user wants once per worker."""

    def run(self, item: int, *, turn: int, epoch: int) -> object:
        """Return the result for an item.

        Raises:
            StreamEnded: there are no more.
        """


@dataclass(slots=True)
class ItemJob:
    """A function of one item.

    Args:
        function: the user's function.
        items: what it is called with, by number.
        seed: what all chance comes from.
        owns_process: whether the shared sources of chance are this worker's alone, to be seeded.
        setup: called once per worker.
    """

    function: Callable[..., object]
    items: Sequence[object]
    seed: int
    owns_process: bool
    setup: Callable[[], object] | None = None
    _takes_rng: bool = False

    def prepare(self) -> None:
        """Run what the user wants once per worker."""
        self._takes_rng = takes_rng(self.function)
        if self.setup is not None:
            self.setup()

    def run(self, item: int, *, turn: int, epoch: int) -> object:
        """Return the function's result, chance seeded for this item of this epoch."""
        chance = item_seed(self.seed, epoch, item)
        if self.owns_process:
            seed_all(chance)
        if self._takes_rng:
            return self.function(self.items[item], rng=np.random.default_rng(chance))
        return self.function(self.items[item])


@dataclass(slots=True)
class StreamJob:
    """A generator function without arguments: one worker runs it, from the start in each pass."""

    function: Callable[[], Iterator[object]]
    seed: int
    owns_process: bool
    setup: Callable[[], object] | None = None
    _turn: int | None = None
    _running: Iterator[object] = field(default_factory=lambda: iter(()))

    def prepare(self) -> None:
        """Run what the user wants once per worker."""
        if self.setup is not None:
            self.setup()

    def run(self, item: int, *, turn: int, epoch: int) -> object:
        """Return the next element; a new turn starts the generator again."""
        if turn != self._turn:
            self._turn = turn
            if self.owns_process:
                seed_all(item_seed(self.seed, epoch, 0))
            self._running = iter(self.function())
        for element in self._running:
            return element
        raise StreamEnded


@dataclass(frozen=True, slots=True)
class BatchesOf:
    """The batches of a Keras `PyDataset` as a function of their number.

    Keras takes a list of arrays for several inputs; in a `tf.data.Dataset` that is a tuple.
    """

    dataset: Any  # Any: the user's

    def __call__(self, number: int) -> object:
        """Return a batch."""
        return _lists_as_tuples(self.dataset[number])


def _lists_as_tuples(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(_lists_as_tuples(part) for part in value)
    if isinstance(value, list) and value and all(getattr(part, "ndim", 0) for part in value):
        return tuple(value)
    return value


def takes_rng(function: Callable[..., object]) -> bool:
    """Return whether the user's function asks for a random generator of its own."""
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built-in functions do not tell
        return False


def function_name(function: Any) -> str:  # Any: the user's
    """Return what messages call the user's function."""
    inner = getattr(function, "func", function)  # of a partial
    owner = getattr(inner, "__self__", None)
    if owner is not None and not inspect.ismodule(owner) and hasattr(inner, "__name__"):
        return f"{type(owner).__name__}.{inner.__name__}"
    return str(getattr(inner, "__name__", type(inner).__name__))


class PyDatasetStandIn:
    """What methods of a Keras `PyDataset` may ask of their base class."""

    # The names under which Keras keeps them: objects come here with these set.
    _workers = 1
    _use_multiprocessing = False
    _max_queue_size = 10

    @property
    def workers(self) -> int:
        """What the user told Keras."""
        return self._workers

    @property
    def use_multiprocessing(self) -> bool:
        """What the user told Keras."""
        return self._use_multiprocessing

    @property
    def max_queue_size(self) -> int:
        """What the user told Keras."""
        return self._max_queue_size

    @property
    def num_batches(self) -> int | None:
        """The number of batches, as Keras asks for it."""
        return len(self) if hasattr(self, "__len__") else None

    def on_epoch_begin(self) -> None:
        """Do nothing: a user's class may do more."""

    def on_epoch_end(self) -> None:
        """Do nothing: a user's class may do more."""


class NotCarriedError(Exception):
    """Something cannot be taken to another process; the text says what."""


def pack_for_workers(content: object) -> int:
    """Return the descriptor of a file in memory that holds `content`.

    Large arrays that the function refers to lie in the file as they are, and all workers share
    them there.

    Raises:
        NotCarriedError: part of it exists only in this process.
    """
    buffers: list[pickle.PickleBuffer] = []
    body = io.BytesIO()
    try:
        _dump_value(content, body, buffers.append)
    except Exception as error:  # noqa: BLE001 - objects of users and libraries refuse in any way
        raise NotCarriedError(_error_line(error)) from None
    pieces = [body.getbuffer(), *(buffer.raw() for buffer in buffers)]
    index = pickle.dumps([piece.nbytes for piece in pieces])
    descriptor = anonymous_file("function")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(_HEAD.pack(len(index)) + index)
        for piece in pieces:
            file.seek(_align_offset(file.tell()))
            file.write(piece)
    return descriptor


def unpack_from_owner(descriptor: int) -> Any:  # Any: what `parcel` was given
    """Return what a parcel holds; its arrays can be written to, and others do not see it."""
    size = os.fstat(descriptor).st_size
    memory = memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY))
    (index_bytes,) = _HEAD.unpack_from(memory)
    place = _HEAD.size + index_bytes
    pieces = []
    for piece_bytes in pickle.loads(memory[_HEAD.size : place]):
        place = _align_offset(place)
        pieces.append(memory[place : place + piece_bytes])
        place += piece_bytes
    return pickle.loads(pieces[0], buffers=pieces[1:])


def find_unpicklable(function: object, items: object, setup: object) -> str | None:
    """Return in words which part of what the user gave cannot go to another process."""
    for name, value in (("items", items), ("`setup`", setup), ("the function", function)):
        reason = _pickle_refusal(value)
        if reason is None:
            continue
        for inner_name, inner in _referred_parts(value):
            if _pickle_refusal(inner) is not None:
                return f"{inner_name} (a {type(inner).__name__}) exists only in this process"
        return f"{name} cannot be pickled ({reason})"
    return None


def _align_offset(place: int) -> int:
    return -(-place // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _pickle_refusal(value: object) -> str | None:
    try:
        _dump_value(value, io.BytesIO(), lambda buffer: None)
    except Exception as error:  # noqa: BLE001 - objects of users and libraries refuse in any way
        return _error_line(error)
    return None


def _error_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _referred_parts(value: Any) -> Iterator[tuple[str, object]]:  # Any: the user's
    """Yield what a function refers to, with the name the user gave it."""
    if isinstance(value, functools.partial):
        yield from _referred_parts(value.func)
        yield from ((f"argument {n} of the partial", part) for n, part in enumerate(value.args))
        yield from ((f"argument `{n}` of the partial", p) for n, p in value.keywords.items())
    elif inspect.ismethod(value):
        yield from _referred_parts(value.__self__)
        yield from _referred_parts(value.__func__)
    elif inspect.isfunction(value):
        used = inspect.getclosurevars(value)
        for name, part in {**used.globals, **used.nonlocals}.items():
            yield f"`{name}`, which `{value.__name__}` uses,", part
    elif isinstance(value, list | tuple):
        yield from ((f"items[{number}]", part) for number, part in enumerate(value))
    elif hasattr(value, "__dict__"):
        kind = type(value).__name__
        yield from ((f"`{name}` of the {kind}", part) for name, part in vars(value).items())


def _dump_value(
    value: object, file: io.BytesIO, keep: Callable[[pickle.PickleBuffer], object]
) -> None:
    import cloudpickle

    pickler = _pickler_class()(file, protocol=5, buffer_callback=keep)
    try:
        pickler.dump(value)
    finally:
        for module in pickler.by_value:
            cloudpickle.unregister_pickle_by_value(module)


@functools.cache
def _pickler_class() -> Callable[..., Any]:  # Any: cloudpickle tells no types
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle tells no types
        """Takes functions of the script along by value, and Keras's base class not at all."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.by_value: list[ModuleType] = []

        def reducer_override(self, value: Any) -> Any:
            if is_py_dataset_base(value):
                # The real one would load Keras, and TensorFlow with it, in every worker.
                return _py_dataset_stand_in, ()
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


def _py_dataset_stand_in() -> type:

    return PyDatasetStandIn
