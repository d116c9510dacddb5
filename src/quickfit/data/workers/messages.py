"""What the process of the training and its workers tell each other."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from quickfit.data.workers.results import Array

# Items in one task at most. A task must be shorter than the 4,096 bytes that a pipe hands over
# in one piece: all workers read from the same one.
ITEMS_PER_TASK = 64

_TASK = struct.Struct(f"<qqiii{ITEMS_PER_TASK}q")
_REPLY = struct.Struct("<iqiI")
TASK_BYTES = _TASK.size


@dataclass(frozen=True, slots=True)
class Task:
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


def task_of(content: bytes) -> Task:
    """Return the task that `Task.to_bytes` wrote."""
    turn, epoch, slot, row, count, *items = _TASK.unpack(content)
    return Task(turn, epoch, slot, row, tuple(items[:count]))


@dataclass(frozen=True, slots=True)
class Failure:
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
class Outcome:
    """How a task went.

    Args:
        failures: the items that failed.
        texts: per row, its arrays of text; they do not lie in shared memory.
        shapes: the shapes of a result that may have any.
        end: the first row that is not there since the user's generator ended; -1 if it goes on.
        is_undone: whether rows are missing since nobody wanted them any more.
    """

    failures: list[Failure] = field(default_factory=list)
    texts: dict[int, list[Array]] = field(default_factory=dict)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    end: int = -1
    is_undone: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to tell but that the task is done."""
        told = self.failures or self.texts or self.shapes or self.is_undone
        return not told and self.end < 0


class Kind(IntEnum):
    """What a reply is about."""

    DONE = 0  # a task: an Outcome, or nothing where all is plain
    READY = 1  # the function is loaded: what the first items gave, if asked
    BROKEN = 2  # the function cannot be loaded: a Failure
    INTERRUPTED = 3  # Ctrl-C in the terminal: when


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker says."""

    kind: Kind
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

    def replies(self, content: bytes) -> Iterator[Reply]:
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
            yield Reply(Kind(kind), turn, slot, told)
