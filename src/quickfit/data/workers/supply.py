"""Batches, pass after pass; workers are kept from one to the next."""

from __future__ import annotations

import itertools
import os
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from quickfit import terminal
from quickfit.capacity import free_memory_bytes
from quickfit.data.workers import seeding
from quickfit.data.workers.crew import Crew, CrewClosed, CrewInterrupted, JobBroken, WorkerDied
from quickfit.data.workers.failures import Teller
from quickfit.data.workers.layout import Layout, bytes_needed
from quickfit.data.workers.messages import Failure
from quickfit.data.workers.passes import Pass, Rules
from quickfit.data.workers.plan import Plan
from quickfit.data.workers.results import packed
from quickfit.data.workers.rounds import Rounds
from quickfit.data.workers.staffing import Staffing
from quickfit.errors import PipelineError

# Of the memory that is free, for batches in the making.
_SHARE_OF_MEMORY = 0.25


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that was left out: its number, itself, and the error in one line."""

    number: int
    item: object
    error: str


class Supply:
    """All passes over the user's items.

    Args:
        plan: what is done.
        layout: what results look like, where the user said so.
    """

    def __init__(self, plan: Plan, layout: Layout | None) -> None:
        self.plan = plan
        self.skipped: list[Skipped] = []
        self._skipped_numbers: set[int] = set()
        can_skip = plan.items is not None and plan.options.on_error == "raise"
        self._teller = Teller(plan.name, plan.items, can_skip=can_skip)
        self.staffing = Staffing(plan, self._teller, layout)
        self._lock = threading.Lock()
        self._idle: list[Crew] = []
        self._rounds = Rounds(plan.py_dataset)
        self._epochs = itertools.count()
        self._is_closed = False

    @property
    def layout(self) -> Layout:
        """What a result looks like."""
        return self.staffing.layout

    @property
    def count(self) -> int | None:
        """The batches of a pass; None where only the pass will tell."""
        options, rows = self.plan.options, self.plan.rows or 1
        if self.plan.items is None or options.on_error == "skip":
            return None
        count = len(self.plan.items)
        return count // rows if options.drop_remainder else -(-count // rows)

    def batches(self) -> Iterator[Any]:  # Any: arrays nested as the user nests them
        """Yield the batches of one pass; a pass that is dropped leaves the workers for the next."""
        epoch, crew = self._begun()
        owner = os.getpid()
        layout = self.staffing.layout
        failed: list[Failure] = []
        rules = self._rules(failed)
        try:
            for arrays in Pass(
                crew, layout, self._items(epoch), epoch=epoch, rules=rules
            ).batches():
                yield packed(layout.structure, iter(arrays))
            self._rounds.end()
            self._tell_skipped(failed)
        except CrewClosed:
            if os.getpid() == owner:
                return  # the interpreter is ending
            raise PipelineError(
                f"an iteration over `{self.plan.name}` goes on in a fork of the process that began"
                " it, where its workers are not. Begin a new one there."
            ) from None
        except CrewInterrupted:
            # TensorFlow hands this to the main thread, which finds the Ctrl-C waiting there.
            raise PipelineError(f"Ctrl-C while `{self.plan.name}` was running") from None
        except WorkerDied as death:
            crew.close()
            raise self._teller.died(death) from None
        except JobBroken as broken:
            crew.close()
            raise self._teller.broken(broken) from None
        finally:
            self._put_back(crew)

    def close(self) -> None:
        """End the workers that wait for a pass; those of a running pass end with it."""
        with self._lock:
            self._is_closed = True
            self.staffing.close()
            crews, self._idle = self._idle, []
        for crew in crews:
            crew.close()

    def _begun(self) -> tuple[int, Crew]:
        with self._lock:
            self._rounds.begin()
            crew = self._idle.pop() if self._idle else None
            if crew is None or crew.is_closed:  # in a fork they are another's
                crew = self.staffing.crew()
            if crew.version != self._rounds.version:
                crew.bring(self.staffing.job())
                crew.version = self._rounds.version
            return next(self._epochs), crew

    def _put_back(self, crew: Crew) -> None:
        with self._lock:
            is_kept = not (self._is_closed or self._idle or crew.is_closed)
            if is_kept:
                self._idle.append(crew)
        if not is_kept:
            crew.close()

    def _items(self, epoch: int) -> Iterator[int]:
        plan = self.plan
        if plan.items is None:
            return itertools.count()
        count = len(plan.items)
        if plan.options.drop_remainder and plan.options.on_error == "raise":
            count -= count % (plan.rows or 1)
        chosen = seeding.order(
            len(plan.items), seed=plan.seed, epoch=epoch, shuffle=plan.options.shuffle
        )
        return iter(chosen[:count])

    def _rules(self, failed: list[Failure]) -> Rules:
        options = self.plan.options
        return Rules(
            workers=self.plan.workers,
            slots=_slots_that_fit(self.staffing.layout),
            is_ordered=options.ordered,
            keeps_last=not options.drop_remainder,
            on_failure=(
                self._raise
                if options.on_error == "raise"
                else lambda failure: self._skip(failure, failed)
            ),
        )

    def _skip(self, failure: Failure, failed: list[Failure]) -> None:
        failed.append(failure)
        if self.plan.items is not None and failure.item not in self._skipped_numbers:
            self._skipped_numbers.add(failure.item)
            item = self.plan.items[failure.item]
            self.skipped.append(Skipped(failure.item, item, failure.summary))

    def _raise(self, failure: Failure) -> None:
        raise self._teller.failed(failure)

    def _tell_skipped(self, failed: list[Failure]) -> None:
        items = self.plan.items
        if not failed or items is None:
            return
        if len(failed) == len(items):
            raise self._teller.failed(failed[0])
        named = "; ".join(f"{self._teller.item(f.item)}: {f.summary}" for f in failed[:3])
        named = terminal.escape(named)
        warnings.warn(
            f"{len(failed)} of {len(items)} items were left out of this epoch, since"
            f" `{self.plan.name}` failed on them: {named}{'; ...' if len(failed) > 3 else ''}."
            ' All of them: dataset.skipped. To stop at the first instead: on_error="raise"',
            stacklevel=2,
        )


def _slots_that_fit(layout: Layout) -> int:
    """Return how many batches may be in the making, for the memory that is free now."""
    batch_bytes = bytes_needed(layout, layout.batch_shapes())
    # Two at least: one is made while the other is handed over.
    return max(2, int(free_memory_bytes() * _SHARE_OF_MEMORY) // batch_bytes)
