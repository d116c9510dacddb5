"""One pass over the items: tasks out, batches in, in the order asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quickfit.data.workers.arrays import Array, BatchLayout
from quickfit.data.workers.jobs import is_py_dataset_base
from quickfit.data.workers.messages import (
    ITEMS_PER_TASK,
    ItemFailure,
    ReplyKind,
    TaskOutcome,
    WorkerPool,
    WorkerReply,
    WorkerTask,
)
from quickfit.errors import PipelineError

# Tasks of a batch per worker: more would cost messages, fewer would leave workers waiting for
# the one with the slow items.
_TASK_SHARES = 2


@dataclass(frozen=True, slots=True)
class PassRules:
    """How a pass goes.

    Args:
        workers: how many share the work.
        slots: batches in the making at a time at most.
        is_ordered: whether batches come in the order of the items.
        keeps_last: whether the last batch may be smaller.
        on_failure: told each item that failed; it raises, or returns to leave the item out.
    """

    workers: int
    slots: int
    is_ordered: bool
    keeps_last: bool
    on_failure: Callable[[ItemFailure], None]


@dataclass(slots=True)
class _TaskFlight:
    """A batch in the making."""

    slot: int
    rows: int
    tasks: int
    outcome: TaskOutcome = field(default_factory=TaskOutcome)

    def add(self, told: object) -> None:
        """Take note that a task is done."""
        self.tasks -= 1
        if not isinstance(told, TaskOutcome):
            return
        if told.is_undone:
            # Only this pass may say so. Better no batch than one with rows that are not there.
            raise PipelineError("the workers of this dataset are used by another process or thread")
        self.outcome.failures += told.failures
        self.outcome.texts.update(told.texts)
        self.outcome.shapes = self.outcome.shapes or told.shapes
        if told.end >= 0:
            self.rows = min(self.rows, told.end)
            self.outcome.end = self.rows


class ItemPass:
    """One pass.

    Args:
        pool: who does the work; no other pass may use it meanwhile.
        layout: what a result looks like.
        items: the numbers of the items, in order.
        epoch: the number of this pass, for chance.
        rules: how it goes.
    """

    def __init__(
        self,
        pool: WorkerPool,
        layout: BatchLayout,
        items: Iterator[int],
        *,
        epoch: int,
        rules: PassRules,
    ) -> None:
        self._pool = pool
        self._layout = layout
        self._items = items
        self._epoch = epoch
        self._pass_rules = rules
        self._rows = layout.rows or 1
        self._turn = pool.turn + 1
        self._flying: list[_TaskFlight] = []  # in the order of their items
        self._all_given = False
        self._kept: list[list[Array]] = []  # rows that do not fill a batch yet

    def batches(self) -> Iterator[list[Array]]:
        """Yield the arrays of each batch, or of each result where there are no batches."""
        self._pool.turn = self._turn
        try:
            while True:
                self._give_tasks()
                if flight := self._next_done():
                    yield from self._land_task(flight)
                elif self._flying or not self._all_given:
                    for reply in self._pool.wait():
                        self._note(reply)
                else:
                    break
            if self._kept and self._pass_rules.keeps_last:
                yield self._join_batch()
        finally:
            # What is still being done is not wanted any more.
            self._pool.turn = self._turn + 1

    def _give_tasks(self) -> None:
        taken = {flight.slot for flight in self._flying}
        for slot, pending in enumerate(self._pool.pending):
            # A slot may still be written to for a pass that was dropped.
            if self._all_given or pending or slot in taken:
                continue
            if len(self._flying) >= self._pass_rules.slots:
                return
            items = tuple(itertools.islice(self._items, self._rows))
            self._all_given = len(items) < self._rows
            if items:
                self._give_batch(slot, items)

    def _give_batch(self, slot: int, items: tuple[int, ...]) -> None:
        size = min(-(-len(items) // (_TASK_SHARES * self._pass_rules.workers)), ITEMS_PER_TASK)
        starts = range(0, len(items), size)
        self._flying.append(_TaskFlight(slot, len(items), len(starts)))
        for row in starts:
            self._pool.give(WorkerTask(self._turn, self._epoch, slot, row, items[row : row + size]))

    def _note(self, reply: WorkerReply) -> None:
        if reply.kind is not ReplyKind.DONE or reply.turn != self._turn:
            return
        for flight in self._flying:
            if flight.slot == reply.slot:
                flight.add(reply.content)
                self._all_given = self._all_given or flight.outcome.end >= 0

    def _next_done(self) -> _TaskFlight | None:
        for flight in self._flying[:1] if self._pass_rules.is_ordered else self._flying:
            if not flight.tasks:
                self._flying.remove(flight)
                return flight
        return None

    def _land_task(self, flight: _TaskFlight) -> Iterator[list[Array]]:
        failed = sorted(flight.outcome.failures, key=lambda failure: failure.row)
        for failure in failed:
            self._pass_rules.on_failure(failure)
        rows = [failure.row for failure in failed]
        if len(rows) == flight.rows:
            return
        arrays = self._pool.slots[flight.slot].take(self._layout, flight.rows, flight.outcome)
        self._add_texts(arrays, flight)
        if self._layout.rows is None:
            yield arrays
        else:
            whole = [np.delete(array, rows, axis=0) for array in arrays] if rows else arrays
            yield from self._full_batches(whole)

    def _add_texts(self, arrays: list[Array], flight: _TaskFlight) -> None:
        places = [n for n, leaf in enumerate(self._layout.leaves) if leaf.is_text]
        for row, texts in flight.outcome.texts.items():
            for place, text in zip(places, texts, strict=True):
                if self._layout.rows is None:
                    arrays[place] = text
                else:
                    arrays[place][row, ...] = text

    def _full_batches(self, arrays: list[Array]) -> Iterator[list[Array]]:
        self._kept.append(arrays)
        while sum(len(kept[0]) for kept in self._kept) >= self._rows:
            joined = self._join_batch()
            rest = [array[self._rows :] for array in joined]
            self._kept = [rest] if len(rest[0]) else []
            yield [array[: self._rows] for array in joined]

    def _join_batch(self) -> list[Array]:
        if len(self._kept) == 1:
            return self._kept[0]
        return [np.concatenate(parts) for parts in zip(*self._kept, strict=True)]


class EpochCallbacks:
    """The epochs of a `PyDataset`.

    Each worker has a copy of it. If each copy shuffled its own indexes in `on_epoch_end`, examples
    would be lost and others come twice; so only the user's own object is told, and carried again.

    Args:
        dataset: the user's; None where there is none. Any: theirs.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.version = 0

    def begin(self) -> None:
        """Tell of the beginning of an epoch."""
        self._tell("on_epoch_begin")

    def end(self) -> None:
        """Tell of the end of a whole epoch."""
        self._tell("on_epoch_end")

    def _tell(self, method: str) -> None:
        if _defines_method(type(self._dataset), method):
            getattr(self._dataset, method)()
            self.version += 1


def _defines_method(kind: type, method: str) -> bool:
    """Return whether the user wrote this method themselves."""
    for base in kind.__mro__:
        if is_py_dataset_base(base) or base.__name__ == "Sequence":
            return False
        if method in vars(base):
            return True
    return False
