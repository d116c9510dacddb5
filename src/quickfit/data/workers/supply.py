"""Batches, pass after pass, from workers that are kept from one pass to the next."""

from __future__ import annotations

import itertools
import os
import reprlib
import select
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit import terminal, units
from quickfit.data.workers import jobs
from quickfit.data.workers.arrays import BatchLayout, bytes_needed, pack_result
from quickfit.data.workers.jobs import WorkerJob
from quickfit.data.workers.messages import (
    LOADING_TASK,
    NO_TASK,
    ItemFailure,
    JobBroken,
    PoolClosed,
    PoolInterrupted,
    WorkerDied,
    WorkerPool,
)
from quickfit.data.workers.passes import EpochCallbacks, ItemPass, PassRules
from quickfit.data.workers.plan import GeneratorPlan
from quickfit.data.workers.threads import ThreadPool
from quickfit.data.workers.worker import NO_ITEM, FirstLook, FirstResult, look_at_first, prepare_job
from quickfit.errors import PipelineError, UsageError
from quickfit.machine import free_memory_bytes

if TYPE_CHECKING:
    from quickfit.data.workers.processes import ProcessPool

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120
_MEMORY_HINT = (
    " The system kills the largest process when memory runs out: try fewer workers, a smaller"
    " batch or smaller results."
)
# Below this, taking an item to another process and back costs more than it saves.
SLOW_CALL_S = 0.0002
_BATCHES_AHEAD = 3
_MOST_SLOTS = 64
# First items to call: several where their time decides or where some may fail.
_FIRST_ITEMS = 5
_FIRST_ITEMS_PATIENT = 20
# Of the memory that is free, for batches in the making.
_SHARE_OF_MEMORY = 0.25


class FailureMessages:
    """Puts failures into words.

    Args:
        name: what the user calls their function.
        items: what it is called with; None for a generator, whose elements have numbers only.
        can_skip: whether items that fail can be left out.
    """

    def __init__(self, name: str, items: Sequence[object] | None, *, can_skip: bool) -> None:
        self._name = name
        self._items = items
        self._can_skip = can_skip

    def item(self, number: int) -> str:
        """Return an item for a message: `item 17 ('a/b.jpg')`."""
        if self._items is None:
            return f"element {number}"
        if isinstance(self._items, range):
            return f"item {self._items[number]}"
        return f"item {number} ({_SHORT.repr(self._items[number])})"

    def failed(self, failure: ItemFailure) -> PipelineError:
        """Return the error for an item that failed."""
        if failure.item == NO_ITEM:
            return PipelineError(
                f"`{self._name}` has no data: {failure.summary}. Call it in a script of its own to"
                " see why."
            )
        if not failure.trace:
            lines = [f"`{self._name}` gave a result that cannot be used for"]
            lines[0] += f" {self.item(failure.item)}: {failure.summary}"
            if failure.summary.endswith(" is expected"):  # it differs from the first result
                lines[0] += "."
                lines.append(self._shape_advice())
        else:
            lines = [f"`{self._name}` failed on {self.item(failure.item)}: {failure.summary}"]
            lines += [f"\n{failure.trace}\n"]
        if self._can_skip:
            lines.append('To leave out items that fail and go on: generator(..., on_error="skip")')
        return PipelineError("\n".join(lines))

    def died(self, death: WorkerDied) -> PipelineError:
        """Return the error for a worker process that ended by itself."""
        doing = f"while it ran `{self._name}` on {self.item(max(death.item, 0))}"
        if death.item == LOADING_TASK:
            doing = f"while it loaded `{self._name}`"
        elif death.item == NO_TASK:
            doing = "between two items"
        how, hint = _ending_text(death.code)
        return PipelineError(
            f"A worker process (pid {death.pid}) {how} {doing}.{hint}\n"
            f"To see it happen, call `{self._name}` on that item in a script of its own."
        )

    def broken(self, broken: JobBroken) -> PipelineError:
        """Return the error for a function that a worker cannot load."""
        return PipelineError(
            f"`{self._name}` could not be made ready in a worker: {broken.summary}\n"
            f"\n{broken.trace}\n\n"
            "A worker imports what the function uses, from the same folders as this process, and"
            " runs `setup`. What exists only in this process is not there; to stay in it:"
            ' generator(..., kind="threads")'
        )

    def _shape_advice(self) -> str:
        if self._items is None:
            return "All elements of a batch need the same types and shapes."
        return (
            "All results of a batch need the same types and shapes: make them equal in"
            f" `{self._name}`, or take them one by one with batch=None and use"
            " `.padded_batch` on the dataset."
        )


def _ending_text(code: int) -> tuple[str, str]:
    if code >= 0:
        return f"ended with exit code {code}", ""
    try:
        known = signal.Signals(-code)
    except ValueError:
        return f"was ended by signal {-code}", ""
    hint = _MEMORY_HINT if known is signal.SIGKILL else ""
    words = {signal.SIGSEGV: " (invalid memory access in native code)", signal.SIGKILL: " (killed)"}
    return f"was ended by {known.name}{words.get(known, '')}", hint


class PoolStarter:
    """Who runs the user's function.

    Args:
        plan: what is done.
        teller: puts failures into words.
        layout: what results look like, where the user said so.
    """

    def __init__(
        self, plan: GeneratorPlan, teller: FailureMessages, layout: BatchLayout | None
    ) -> None:
        self._plan = plan
        self._teller = teller
        self._first_pool: ProcessPool | None = None
        self.uses_processes = False
        self.reason = "as asked"
        if plan.options.kind != "threads":
            layout = self._try_processes(layout)
        if not self.uses_processes:
            layout = self._use_threads(layout)
        assert layout is not None  # both ways end in a layout or an error
        self.layout = layout

    def job(self) -> WorkerJob:
        """Return the work of a worker, as the user's objects are now."""
        return self._plan.job(owns_process=self.uses_processes)

    def pool(self) -> WorkerPool:
        """Return workers for a pass, all of them started."""
        if not self.uses_processes:
            return ThreadPool(
                self._job, self.layout, workers=self._plan.workers, slots=_slot_count(self._plan)
            )
        pool, self._first_pool = self._first_pool, None
        if pool is None:
            pool = self._new_processes()
            pool.bring(self.job())
            pool.bring(self.layout)
        pool.start_workers(self._plan.workers)
        return pool

    def close(self) -> None:
        """End the workers that nobody has asked for yet."""
        if self._first_pool is not None:
            self._first_pool.close()
            self._first_pool = None

    def _try_processes(self, layout: BatchLayout | None) -> BatchLayout | None:
        is_auto = self._plan.options.kind == "auto"
        try:
            pool = self._is_carried()
        except jobs.NotCarriedError as error:
            if not is_auto:
                raise self._cannot_leave(error) from None
            self.reason = f"threads since {error}"
            return layout
        try:
            return self._look_at_first(pool, layout)
        except JobBroken as broken:
            pool.close()
            if not is_auto:
                raise self._teller.broken(broken) from None
            self.reason = f"threads since a process could not load it: {broken.summary}"
            return layout
        except WorkerDied as death:
            pool.close()
            raise self._teller.died(death) from None

    def _is_carried(self) -> ProcessPool:
        if not (hasattr(socket, "send_fds") and hasattr(select, "poll") and sys.executable):
            raise jobs.NotCarriedError("this system cannot share memory between processes")
        pool = self._new_processes()
        try:
            pool.bring(self._plan.job(owns_process=True))
        except jobs.NotCarriedError as error:
            pool.close()
            plan = self._plan
            named = jobs.find_unpicklable(plan.function, plan.items, plan.options.setup)
            raise jobs.NotCarriedError(named or str(error)) from None
        return pool

    def _look_at_first(self, pool: ProcessPool, layout: BatchLayout | None) -> BatchLayout | None:
        is_auto = self._plan.options.kind == "auto"
        if layout is None or is_auto:
            pool.start_workers(1, self._look(is_timed=is_auto))
            first = pool.first()
            if first.failure:
                pool.close()
                raise self._teller.failed(first.failure)
            layout = layout or first.layout
            if is_auto and first.call_s < SLOW_CALL_S:
                pool.close()
                self.reason = f"threads since a call takes only {units.seconds(first.call_s)}"
                return layout
            if is_auto:
                self.reason = f"processes since a call takes {units.seconds(first.call_s)}"
        pool.bring(layout)
        self._first_pool, self.uses_processes = pool, True
        return layout

    def _use_threads(self, layout: BatchLayout | None) -> BatchLayout | None:
        self._job = self._plan.job(owns_process=False)
        broken = prepare_job(self._job.prepare)
        if broken:
            raise self._teller.broken(JobBroken(broken.summary, broken.trace))
        first = (
            look_at_first(self._look(is_timed=False), self._job)
            if layout is None
            else FirstResult()
        )
        if first.failure:
            raise self._teller.failed(first.failure)
        return layout or first.layout

    def _look(self, *, is_timed: bool) -> FirstLook:
        plan = self._plan
        is_patient = plan.options.on_error == "skip"
        most = _FIRST_ITEMS_PATIENT if is_patient else _FIRST_ITEMS if is_timed else 1
        count = most if plan.items is None else min(most, len(plan.items))
        return FirstLook(
            count,
            plan.rows,
            first_varies=plan.py_dataset is not None,
            is_timed=is_timed,
            is_patient=is_patient,
        )

    def _new_processes(self) -> ProcessPool:
        from quickfit.data.workers.processes import ProcessPool  # not on every system

        return ProcessPool(workers=self._plan.workers, slots=_slot_count(self._plan))

    def _cannot_leave(self, error: jobs.NotCarriedError) -> UsageError:
        name = self._plan.name
        return UsageError(
            f"`{name}` cannot run in other processes: {error}.\n"
            f"Make it inside `{name}`, or once per worker with generator(..., setup=function)"
            ' and a global; or stay in this process with generator(..., kind="threads").'
        )


def _slot_count(plan: GeneratorPlan) -> int:
    """Return how many batches are in the making at a time, with the one that is handed over."""
    tasks = plan.rows or 1
    # Two tasks per worker are always there, however small the batches are.
    least = -(-2 * plan.workers // tasks) + 1
    ahead = plan.options.prefetch or max(_BATCHES_AHEAD, least)
    return min(ahead + 1, _MOST_SLOTS)


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """An item that was left out: its number, itself, and the error in one line."""

    number: int
    item: object
    error: str


class BatchSupply:
    """All passes over the user's items.

    Args:
        plan: what is done.
        layout: what results look like, where the user said so.
    """

    def __init__(self, plan: GeneratorPlan, layout: BatchLayout | None) -> None:
        self.plan = plan
        self.skipped: list[SkippedItem] = []
        self._skipped_numbers: set[int] = set()
        can_skip = plan.items is not None and plan.options.on_error == "raise"
        self._teller = FailureMessages(plan.name, plan.items, can_skip=can_skip)
        self.staffing = PoolStarter(plan, self._teller, layout)
        self._lock = threading.Lock()
        self._idle: list[WorkerPool] = []
        self._rounds = EpochCallbacks(plan.py_dataset)
        self._epochs = itertools.count()
        self._is_closed = False

    @property
    def layout(self) -> BatchLayout:
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
        epoch, pool = self._begin_pass()
        owner = os.getpid()
        layout = self.staffing.layout
        failed: list[ItemFailure] = []
        rules = self._pass_rules(failed)
        try:
            for arrays in ItemPass(
                pool, layout, self._items(epoch), epoch=epoch, rules=rules
            ).batches():
                yield pack_result(layout.structure, iter(arrays))
            self._rounds.end()
            self._tell_skipped(failed)
        except PoolClosed:
            if os.getpid() == owner:
                return  # the interpreter is ending
            raise PipelineError(
                f"an iteration over `{self.plan.name}` goes on in a fork of the process that began"
                " it, where its workers are not. Begin a new one there."
            ) from None
        except PoolInterrupted:
            # TensorFlow hands this to the main thread, which finds the Ctrl-C waiting there.
            raise PipelineError(f"Ctrl-C while `{self.plan.name}` was running") from None
        except WorkerDied as death:
            pool.close()
            raise self._teller.died(death) from None
        except JobBroken as broken:
            pool.close()
            raise self._teller.broken(broken) from None
        finally:
            self._put_back(pool)

    def close(self) -> None:
        """End the workers that wait for a pass; those of a running pass end with it."""
        with self._lock:
            self._is_closed = True
            self.staffing.close()
            pools, self._idle = self._idle, []
        for pool in pools:
            pool.close()

    def _begin_pass(self) -> tuple[int, WorkerPool]:
        with self._lock:
            self._rounds.begin()
            pool = self._idle.pop() if self._idle else None
            if pool is None or pool.is_closed:  # in a fork they are another's
                pool = self.staffing.pool()
            if pool.version != self._rounds.version:
                pool.bring(self.staffing.job())
                pool.version = self._rounds.version
            return next(self._epochs), pool

    def _put_back(self, pool: WorkerPool) -> None:
        with self._lock:
            is_kept = not (self._is_closed or self._idle or pool.is_closed)
            if is_kept:
                self._idle.append(pool)
        if not is_kept:
            pool.close()

    def _items(self, epoch: int) -> Iterator[int]:
        plan = self.plan
        if plan.items is None:
            return itertools.count()
        count = len(plan.items)
        if plan.options.drop_remainder and plan.options.on_error == "raise":
            count -= count % (plan.rows or 1)
        chosen = jobs.item_order(
            len(plan.items), seed=plan.seed, epoch=epoch, shuffle=plan.options.shuffle
        )
        return iter(chosen[:count])

    def _pass_rules(self, failed: list[ItemFailure]) -> PassRules:
        options = self.plan.options
        return PassRules(
            workers=self.plan.workers,
            slots=_slots_that_fit(self.staffing.layout),
            is_ordered=options.ordered,
            keeps_last=not options.drop_remainder,
            on_failure=(
                self._raise_failure
                if options.on_error == "raise"
                else lambda failure: self._skip_item(failure, failed)
            ),
        )

    def _skip_item(self, failure: ItemFailure, failed: list[ItemFailure]) -> None:
        failed.append(failure)
        if self.plan.items is not None and failure.item not in self._skipped_numbers:
            self._skipped_numbers.add(failure.item)
            item = self.plan.items[failure.item]
            self.skipped.append(SkippedItem(failure.item, item, failure.summary))

    def _raise_failure(self, failure: ItemFailure) -> None:
        raise self._teller.failed(failure)

    def _tell_skipped(self, failed: list[ItemFailure]) -> None:
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


def _slots_that_fit(layout: BatchLayout) -> int:
    """Return how many batches may be in the making, for the memory that is free now."""
    batch_bytes = bytes_needed(layout, layout.batch_shapes())
    # Two at least: one is made while the other is handed over.
    return max(2, int(free_memory_bytes() * _SHARE_OF_MEMORY) // batch_bytes)
