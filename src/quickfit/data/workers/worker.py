"""A worker from within: tasks taken, the user's function called, results put where they belong."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from quickfit.data.workers.arrays import (
    Array,
    BatchLayout,
    UnusableResultError,
    bytes_needed,
    find_layout,
    memory_views,
)
from quickfit.data.workers.jobs import StreamEnded, WorkerJob, unpack_from_owner
from quickfit.data.workers.messages import (
    LOADING_TASK,
    NO_TASK,
    TASK_BYTES,
    ItemFailure,
    ReplyKind,
    SharedMemory,
    TaskOutcome,
    WorkerBoard,
    WorkerReply,
    WorkerTask,
    parse_task,
)

# The number of an item that is not there: the generator ended before it.
NO_ITEM = -1
# A traceback longer than this is nothing a person reads.
_TRACE_CHARS = 20_000
_SUMMARY_CHARS = 300
# Calls of the first items stop after this: enough to tell fast functions from slow ones. On a busy
# machine one that takes long without using the CPU may have been interrupted: it takes two of them.
_TRY_S = 0.05
# How long the main thread may take to end by itself once the owner is gone.
_GRACE_S = 0.5


class ResultPlace(Protocol):
    """Where the results of a task go."""

    def put(self, row: int, arrays: list[Array]) -> None:
        """Write one result."""

    def put_alone(self, arrays: list[Array]) -> None:
        """Write a result that may have any shape."""


@dataclass(frozen=True, slots=True)
class FirstResult:
    """What the first items told: their layout and the time of a call, or why there is none."""

    layout: BatchLayout | None = None
    call_s: float = 0.0
    failure: ItemFailure | None = None


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The question for the first items.

    Args:
        count: how many of them to call at most.
        rows: rows of a batch, as in `Layout`.
        first_varies: as in `layout_of`.
        is_timed: whether several are to be called, to see how long one takes.
        is_patient: whether those that fail are left out.
    """

    count: int
    rows: int | None
    first_varies: bool = False
    is_timed: bool = False
    is_patient: bool = False


def perform_task(
    task: WorkerTask,
    job: WorkerJob,
    layout: BatchLayout,
    place: ResultPlace,
    begin: Callable[[int], bool],
) -> TaskOutcome:
    """Do a task; `begin` is told each item and answers whether the task is still wanted."""
    outcome = TaskOutcome()
    for row, item in enumerate(task.items, task.row):
        if not begin(item):
            outcome.is_undone = True
            break
        try:
            arrays = layout.arrays(job.run(item, turn=task.turn, epoch=task.epoch))
            _put_result(arrays, row, layout, place, outcome)
        except StreamEnded:
            outcome.end = row
            break
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - returned
            outcome.failures.append(_item_failure(row, item, error))
    return outcome


def look_at_first(
    look: FirstLook, job: WorkerJob, begin: Callable[[int], None] = lambda item: None
) -> FirstResult:
    """Call the function on the first items to see what it gives; `begin` is told each item."""
    layout, times_s, failure = None, [], None
    cpu_began_s = time.thread_time()
    for item in range(look.count):
        begin(item)
        started_s = time.perf_counter()
        try:
            value = job.run(item, turn=-1, epoch=0)
            times_s.append(time.perf_counter() - started_s)
            layout = layout or find_layout(value, rows=look.rows, first_varies=look.first_varies)
        except StreamEnded:
            failure = failure or ItemFailure(0, NO_ITEM, "it ended before its first element")
            break
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - returned
            failure = failure or _item_failure(0, item, error)
        used_s = time.thread_time() - cpu_began_s
        is_slow = used_s > _TRY_S or (len(times_s) > 1 and sum(times_s) > _TRY_S)
        has_enough = not look.is_timed or is_slow
        if (failure and not look.is_patient) or (layout and has_enough):
            break
    # A generator may end after a few elements: that is no failure.
    if layout is None or (failure and failure.item != NO_ITEM and not look.is_patient):
        return FirstResult(failure=failure)
    return FirstResult(layout, min(times_s))


def _put_result(
    arrays: list[Array], row: int, layout: BatchLayout, place: ResultPlace, outcome: TaskOutcome
) -> None:
    if any(leaf.is_text for leaf in layout.leaves):
        pairs = zip(layout.leaves, arrays, strict=True)
        outcome.texts[row] = [array for leaf, array in pairs if leaf.is_text]
    if layout.rows is None:
        outcome.shapes = [array.shape for array in arrays]
        place.put_alone(arrays)
    else:
        place.put(row, arrays)


def _item_failure(row: int, item: int, error: BaseException) -> ItemFailure:
    if isinstance(error, UnusableResultError):
        return ItemFailure(row, item, str(error))
    return ItemFailure(row, item, *describe_error(error))


def prepare_job(steps: Callable[[], None]) -> ItemFailure | None:
    """Load the user's function and run their `setup`; return what went wrong."""
    try:
        steps()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - returned
        return ItemFailure(0, NO_ITEM, *describe_error(error))
    return None


def describe_error(error: BaseException) -> tuple[str, str]:
    """Return an error of the user's code: one line, and the traceback without our own frames."""
    frames = _without_ours(error.__traceback__)
    trace = "".join(traceback.TracebackException(type(error), error, frames).format()).rstrip()
    if len(trace) > _TRACE_CHARS:
        half = _TRACE_CHARS // 2
        trace = f"{trace[:half]}\n  [...]\n{trace[-half:]}"
    lines = "".join(traceback.format_exception_only(error)).splitlines()
    # A SyntaxError begins with the place; any other error may go on with notes.
    summary = lines[-1] if isinstance(error, SyntaxError) else lines[0]
    return summary[:_SUMMARY_CHARS], trace


def _without_ours(frames: TracebackType | None) -> TracebackType | None:
    ours = __name__.rpartition(".")[0]
    while frames is not None and str(frames.tb_frame.f_globals.get("__name__")).startswith(ours):
        frames = frames.tb_next
    return frames


def serve_owner(owner: socket.socket, letter: Mapping[str, Any]) -> None:  # Any: as JSON has it
    """Work until the owner closes the pipe or is gone."""
    for descriptor in (owner.fileno(), letter["tasks"], letter["lifeline"], *letter["slots"]):
        # Programs that the user's function starts must not keep the owner waiting.
        os.set_inheritable(descriptor, False)
    threading.Thread(target=_end_with_owner, args=(letter["lifeline"],), daemon=True).start()
    server = _TaskServer(owner, letter)
    threading.Thread(target=server.pass_on_interrupts, daemon=True).start()
    if not server.load():
        return
    while content := os.read(letter["tasks"], TASK_BYTES):
        server.work(parse_task(content))


def _end_with_owner(lifeline: int) -> None:
    os.read(lifeline, 1)  # nobody writes: it returns when the owner is gone
    ending = threading.Timer(_GRACE_S, os._exit, (0,))
    ending.daemon = True
    ending.start()


class _TaskServer:
    def __init__(self, owner: socket.socket, letter: Mapping[str, Any]) -> None:  # Any: JSON
        self._owner = owner
        self._number: int = letter["number"]
        self._board = WorkerBoard(SharedMemory(letter["board"]), letter["workers"])
        self._slots = [_SharedSlot(descriptor) for descriptor in letter["slots"]]
        self._look: dict[str, Any] | None = letter["look"]
        self._speaking = threading.Lock()
        self._edition = -1
        self._job: WorkerJob
        self._layout: BatchLayout

    def load(self) -> bool:
        """Fetch the function and call it on the first items if asked; False where it fails."""
        self._note(LOADING_TASK)
        failure = prepare_job(self._get_ready)
        if failure:
            self._send_reply(WorkerReply(ReplyKind.BROKEN, content=failure))
            return False
        look = self._look
        first = look_at_first(FirstLook(**look), self._job, self._note) if look else None
        self._send_reply(WorkerReply(ReplyKind.READY, content=first))
        self._note(NO_TASK)
        return True

    def _get_ready(self) -> None:
        self._fetch_task()
        self._job.prepare()

    def pass_on_interrupts(self) -> None:
        """Tell the owner of each Ctrl-C: its main thread may not notice."""
        while True:
            # Held back in all threads since the process began.
            signal.sigwait({signal.SIGINT})
            self._send_reply(WorkerReply(ReplyKind.INTERRUPTED, content=time.monotonic()))

    def work(self, task: WorkerTask) -> None:
        """Do a task and say so; of an old turn, only say so."""
        outcome = TaskOutcome(is_undone=True)
        if task.turn == self._board.turn:
            while self._edition < self._board.edition:
                self._fetch_task()
            place = self._slots[task.slot]
            place.layout = self._layout
            outcome = perform_task(
                task, self._job, self._layout, place, lambda item: self._begin_item(item, task.turn)
            )
        content = None if outcome.is_plain else outcome
        self._send_reply(WorkerReply(ReplyKind.DONE, task.turn, task.slot, content))
        self._note(NO_TASK)

    def _begin_item(self, item: int, turn: int) -> bool:
        self._note(item)
        return self._board.turn == turn

    def _note(self, item: int) -> None:
        self._board.set_item(self._number, item)

    def _fetch_task(self) -> None:
        _, descriptors, _, _ = socket.recv_fds(self._owner, 1, 1)
        if not descriptors:
            raise SystemExit(0)  # the owner is gone
        self._edition, content = unpack_from_owner(descriptors[0])
        os.close(descriptors[0])
        if isinstance(content, BatchLayout):
            self._layout = content
        else:
            self._job = content

    def _send_reply(self, reply: WorkerReply) -> None:
        # What the user's function printed is to be seen now, not when the worker ends.
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            with self._speaking:
                self._owner.sendall(reply.to_bytes())
        except (BrokenPipeError, ConnectionResetError):
            raise SystemExit(0) from None


class _SharedSlot:
    """A place for results in shared memory."""

    def __init__(self, descriptor: int) -> None:
        self._memory = SharedMemory(descriptor)
        self._views: list[Array] = []
        self._viewed: BatchLayout | None = None
        self.layout: BatchLayout

    def put(self, row: int, arrays: list[Array]) -> None:
        """Write one result at its row."""
        if self._viewed is not self.layout:
            shapes = self.layout.batch_shapes()
            memory = self._memory.mapped(bytes_needed(self.layout, shapes))
            self._views, self._viewed = memory_views(self.layout, shapes, memory), self.layout
        for leaf, view, array in zip(self.layout.leaves, self._views, arrays, strict=True):
            if not leaf.is_text:
                view[row, ...] = array

    def put_alone(self, arrays: list[Array]) -> None:
        """Write a result of any shape; the memory grows as it needs."""
        shapes = [array.shape for array in arrays]
        memory = self._memory.mapped(bytes_needed(self.layout, shapes))
        places = memory_views(self.layout, shapes, memory)
        for leaf, view, array in zip(self.layout.leaves, places, arrays, strict=True):
            if not leaf.is_text:
                view[...] = array
