"""Workers that are threads: for functions that let go of the GIL, or cannot leave the process."""

from __future__ import annotations

import copy
import os
import queue
import threading
import weakref

from quickfit.data.workers.arrays import Array, BatchBuffers, BatchLayout
from quickfit.data.workers.jobs import WorkerJob
from quickfit.data.workers.messages import (
    PoolClosed,
    ReplyKind,
    TaskOutcome,
    WorkerReply,
    WorkerTask,
)
from quickfit.data.workers.worker import perform_task

# A thread inside the user's function cannot be stopped; the interpreter does not wait longer.
_GRACE_S = 1.0


class ThreadPool:
    """Threads that share the user's function; results are written where TensorFlow takes them.

    Args:
        job: what they do.
        layout: what results look like.
        workers: how many threads.
        slots: batches in the making at a time.
    """

    def __init__(self, job: WorkerJob, layout: BatchLayout, *, workers: int, slots: int) -> None:
        buffers = BatchBuffers()
        self.slots = [_Slot(buffers) for _ in range(slots)]
        self.pending = [0] * slots
        self.version = 0
        self._owner = os.getpid()
        # The job's own state belongs to one pool; what the user gave is shared.
        self._shop = _ThreadShop(copy.copy(job), layout, self.slots)
        self._shop.threads = [
            threading.Thread(target=self._shop.serve, name=f"quickfit worker {number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._shop.threads:
            thread.start()
        self._close = weakref.finalize(self, self._shop.close)

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed; threads do not live on in a fork of their process."""
        return self._shop.is_closed or os.getpid() != self._owner

    @property
    def turn(self) -> int:
        """The pass over the data that is in progress."""
        return self._shop.turn

    @turn.setter
    def turn(self, value: int) -> None:
        self._shop.turn = value

    def bring(self, content: object) -> None:
        """Do nothing: threads see the user's own objects."""

    def give(self, task: WorkerTask) -> None:
        """Add a task; the next free thread takes it."""
        self.pending[task.slot] += 1
        self.slots[task.slot].make_room(self._shop.layout)
        self._shop.tasks.put(task)

    def wait(self) -> list[WorkerReply]:
        """Return the next reply, and those that are there with it."""
        if self.is_closed:
            raise PoolClosed
        replies = [self._shop.replies.get()]
        while not self._shop.replies.empty():
            replies.append(self._shop.replies.get())
        if self.is_closed:
            raise PoolClosed
        for reply in replies:
            self.pending[reply.slot] -= 1
        return replies

    def close(self) -> None:
        """Send the threads home."""
        self._close()


class _ThreadShop:
    """What the threads know; not the pool, so that they do not keep it alive."""

    def __init__(self, job: WorkerJob, layout: BatchLayout, slots: list[_Slot]) -> None:
        self.job = job
        self.layout = layout
        self.slots = slots
        self.turn = 0
        self.is_closed = False
        self.tasks: queue.SimpleQueue[WorkerTask | None] = queue.SimpleQueue()
        self.replies: queue.SimpleQueue[WorkerReply] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []

    def serve(self) -> None:
        while (task := self.tasks.get()) is not None:
            self.replies.put(self._finish_task(task))

    def close(self) -> None:
        self.is_closed, self.turn = True, -1
        self.replies.put(WorkerReply(ReplyKind.DONE))  # wakes who waits
        for _ in self.threads:
            self.tasks.put(None)
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(_GRACE_S)

    def _finish_task(self, task: WorkerTask) -> WorkerReply:
        outcome = TaskOutcome(is_undone=True)
        if task.turn == self.turn:
            outcome = perform_task(
                task,
                self.job,
                self.layout,
                self.slots[task.slot],
                lambda item: task.turn == self.turn,
            )
        return WorkerReply(
            ReplyKind.DONE, task.turn, task.slot, None if outcome.is_plain else outcome
        )


class _Slot:
    """Memory of its own for every batch: TensorFlow keeps it."""

    def __init__(self, buffers: BatchBuffers) -> None:
        self._buffers = buffers
        self._arrays: list[Array] = []

    def make_room(self, layout: BatchLayout) -> None:
        """Have memory for a batch."""
        if not self._arrays and layout.rows is not None:
            shapes = zip(layout.leaves, layout.batch_shapes(), strict=True)
            self._arrays = [self._buffers.array(shape, leaf.dtype) for leaf, shape in shapes]

    def put(self, row: int, arrays: list[Array]) -> None:
        """Write one result at its row."""
        for place, array in zip(self._arrays, arrays, strict=True):
            place[row, ...] = array

    def put_alone(self, arrays: list[Array]) -> None:
        """Keep a result of any shape. A copy: the user's function may use its array again."""
        self._arrays = []
        for array in arrays:
            place = self._buffers.array(array.shape, array.dtype)
            place[...] = array
            self._arrays.append(place)

    def take(self, layout: BatchLayout, rows: int, outcome: TaskOutcome) -> list[Array]:
        """Hand the memory over."""
        arrays, self._arrays = self._arrays, []
        return arrays if layout.rows is None else [array[:rows] for array in arrays]
