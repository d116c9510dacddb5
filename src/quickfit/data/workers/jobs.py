"""What a worker does with the number of an item: the user's function, behind one interface."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from quickfit.data.workers.seeding import mixed, seed_all


class StreamEnded(Exception):  # noqa: N818 - it is the end of the data, not an error
    """The user's generator has no more elements."""


class Job(Protocol):
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
        chance = mixed(self.seed, epoch, item)
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
                seed_all(mixed(self.seed, epoch, 0))
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
        return _tupled(self.dataset[number])


def _tupled(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(_tupled(part) for part in value)
    if isinstance(value, list) and value and all(getattr(part, "ndim", 0) for part in value):
        return tuple(value)
    return value


def takes_rng(function: Callable[..., object]) -> bool:
    """Return whether the user's function asks for a random generator of its own."""
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built-in functions do not tell
        return False


def name_of(function: Any) -> str:  # Any: the user's
    """Return what messages call the user's function."""
    inner = getattr(function, "func", function)  # of a partial
    owner = getattr(inner, "__self__", None)
    if owner is not None and not inspect.ismodule(owner) and hasattr(inner, "__name__"):
        return f"{type(owner).__name__}.{inner.__name__}"
    return str(getattr(inner, "__name__", type(inner).__name__))
