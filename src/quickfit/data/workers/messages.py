"""What the owner and its workers exchange: tasks, replies, shared memory and a board of numbers."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import struct
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from quickfit.data.workers.arrays import Array, BatchLayout

_PAGE_BYTES = mmap.PAGESIZE
# What a worker handles when it handles no item.
NO_TASK = -1
LOADING_TASK = -2
_TURN, _EDITION, _FIRST_WORKER = 0, 1, 2
_NUMBER_BYTES = 8
# Items in one task at most. A task must be shorter than the 4,096 bytes that a pipe hands over
# in one piece: all workers read from the same one.
ITEMS_PER_TASK = 64
_TASK = struct.Struct(f"<qqiii{ITEMS_PER_TASK}q")
_REPLY = struct.Struct("<iqiI")
TASK_BYTES = _TASK.size


def anonymous_file(name: str) -> int:
    """Return the descriptor of a file that vanishes with the last process that holds it.

    Not `multiprocessing.shared_memory`: its files have names, and stay when a process is killed.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create(f"quickfit-{name}")
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


class SharedMemory:
    """A file in memory, mapped, that grows when one of its users needs more.

    Args:
        descriptor: from `anonymous_file`, here or in the process that started this one.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def mapped(self, size_bytes: int) -> mmap.mmap:
        """Return the memory, at least so large; what was written stays."""
        if self._map is None or len(self._map) < size_bytes:
            whole = -(-size_bytes // _PAGE_BYTES) * _PAGE_BYTES
            if os.fstat(self.descriptor).st_size < whole:
                os.ftruncate(self.descriptor, whole)
            self._map = mmap.mmap(self.descriptor, whole)
        return self._map

    def close(self) -> None:
        """Let go of the file; arrays that still lie in it keep their memory."""
        self._map = None
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self.descriptor)
        self.descriptor = -1


class WorkerBoard:
    """The turn in progress, the newest parcel, and the item each worker is busy with.

    Args:
        memory: shared by all.
        workers: how many workers there may be.
    """

    def __init__(self, memory: SharedMemory, workers: int) -> None:
        size = (_FIRST_WORKER + workers) * _NUMBER_BYTES
        self._numbers = memoryview(memory.mapped(size)).cast("q")

    @property
    def turn(self) -> int:
        """The pass over the data that is in progress."""
        return self._numbers[_TURN]

    @turn.setter
    def turn(self, value: int) -> None:
        self._numbers[_TURN] = value

    @property
    def edition(self) -> int:
        """The number of the newest parcel; who has an older one fetches it before working."""
        return self._numbers[_EDITION]

    @edition.setter
    def edition(self, value: int) -> None:
        self._numbers[_EDITION] = value

    def item_of(self, worker: int) -> int:
        """Return the item a worker is busy with, or was when it died."""
        return self._numbers[_FIRST_WORKER + worker]

    def set_item(self, worker: int, item: int) -> None:
        """Say what a worker is busy with."""
        self._numbers[_FIRST_WORKER + worker] = item


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """Some items to handle.

    Args:
        turn: the pass over the data it belongs to; what belongs to an older one is not worth doing.
        epoch: the number of that pass for chance.
        slot: the piece of memory for the results.
        row: the row of the first result.
        items: the numbers of the items.
    """

    turn: int
    epoch: int
    slot: int
    row: int
    items: tuple[int, ...]

    def to_bytes(self) -> bytes:
        """Return it in the form that goes through the pipe."""
        count = len(self.items)
        padding = (0,) * (ITEMS_PER_TASK - count)
        return _TASK.pack(self.turn, self.epoch, self.slot, self.row, count, *self.items, *padding)


def parse_task(content: bytes) -> WorkerTask:
    """Return the task that `Task.to_bytes` wrote."""
    turn, epoch, slot, row, count, *items = _TASK.unpack(content)
    return WorkerTask(turn, epoch, slot, row, tuple(items[:count]))


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """An item whose result cannot be used.

    Args:
        row: where its result would lie.
        item: its number.
        summary: the error in one line.
        trace: the traceback of the user's code; empty if the function itself went well.
    """

    row: int
    item: int
    summary: str
    trace: str = ""


@dataclass(slots=True)
class TaskOutcome:
    """How a task went.

    Args:
        failures: the items that failed.
        texts: per row, its arrays of text; they do not lie in shared memory.
        shapes: the shapes of a result that may have any.
        end: the first row that is not there since the user's generator ended; -1 if it goes on.
        is_undone: whether rows are missing since nobody wanted them any more.
    """

    failures: list[ItemFailure] = field(default_factory=list)
    texts: dict[int, list[Array]] = field(default_factory=dict)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    end: int = -1
    is_undone: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to tell but that the task is done."""
        told = self.failures or self.texts or self.shapes or self.is_undone
        return not told and self.end < 0


class ReplyKind(IntEnum):
    """What a reply is about."""

    DONE = 0  # a task: an Outcome, or nothing where all is plain
    READY = 1  # the function is loaded: what the first items gave, if asked
    BROKEN = 2  # the function cannot be loaded: a Failure
    INTERRUPTED = 3  # Ctrl-C in the terminal: when


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """What a worker says."""

    kind: ReplyKind
    turn: int = 0
    slot: int = -1
    content: object = None

    def to_bytes(self) -> bytes:
        """Return it in the form that goes through the socket."""
        content = b"" if self.content is None else pickle.dumps(self.content, protocol=5)
        return _REPLY.pack(self.kind, self.turn, self.slot, len(content)) + content


class ReplyReader:
    """Puts replies together from the pieces in which a socket hands them over."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def replies(self, content: bytes) -> Iterator[WorkerReply]:
        """Yield the replies that are whole with this piece."""
        self._waiting += content
        while len(self._waiting) >= _REPLY.size:
            kind, turn, slot, size = _REPLY.unpack_from(self._waiting)
            end = _REPLY.size + size
            if len(self._waiting) < end:
                return
            # From a worker of ours, through a socket that nobody else can open.
            told = pickle.loads(self._waiting[_REPLY.size : end]) if size else None
            del self._waiting[:end]
            yield WorkerReply(ReplyKind(kind), turn, slot, told)


class PoolClosed(Exception):  # noqa: N818 - it is the end of the program, not an error
    """The pool was told to stop while a pass was waiting for it."""


class PoolInterrupted(Exception):  # noqa: N818 - it is the user's wish, not an error
    """Ctrl-C was pressed, and the main thread waits inside TensorFlow."""


class BatchSlot(Protocol):
    """A piece of memory for the results of one batch."""

    def take(self, layout: BatchLayout, rows: int, outcome: TaskOutcome) -> list[Array]:
        """Return its arrays, to keep; the slot is free then. Text is left empty."""


class WorkerPool(Protocol):
    """Workers that have the function and share the tasks."""

    # Per slot, the tasks that are not done yet, those of dropped passes too.
    pending: list[int]
    turn: int
    # Which state of the user's objects the workers have.
    version: int

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed, or a worker has died."""

    @property
    def slots(self) -> Sequence[BatchSlot]:
        """Memory for the batches in the making."""

    def bring(self, content: object) -> None:
        """Take a job to all workers; they fetch it before their next task."""

    def give(self, task: WorkerTask) -> None:
        """Add a task; the next free worker takes it."""

    def wait(self) -> list[WorkerReply]:
        """Return the replies that came, waiting for at least one.

        Raises:
            WorkerDied: a worker ended by itself.
            PoolClosed: the pool was closed meanwhile.
            PoolInterrupted: Ctrl-C was pressed and nobody else can notice.
        """

    def close(self) -> None:
        """End the workers; can be called from any thread, more than once."""


class WorkerDied(Exception):  # noqa: N818 - becomes a PipelineError with the item's name
    """A worker process ended by itself.

    Args:
        item: the item it was busy with, or `NOTHING`, `LOADING`.
        pid: its process.
        code: as `subprocess` has it: the exit code, or minus the signal.
    """

    def __init__(self, item: int, pid: int, code: int) -> None:
        super().__init__(item, pid, code)
        self.item = item
        self.pid = pid
        self.code = code


class JobBroken(Exception):  # noqa: N818 - becomes a PipelineError
    """The function could not be loaded in a worker."""

    def __init__(self, summary: str, trace: str) -> None:
        super().__init__(summary)
        self.summary = summary
        self.trace = trace
