"""Workers that are processes: fresh interpreters, never forks, and nothing left behind."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import select
import socket
import sys
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quickfit.data.interrupts import UnnoticedInterrupts
from quickfit.data.workers.arrays import (
    Array,
    BatchBuffers,
    BatchLayout,
    bytes_needed,
    memory_views,
)
from quickfit.data.workers.jobs import pack_for_workers
from quickfit.data.workers.messages import (
    NO_TASK,
    ItemFailure,
    JobBroken,
    PoolClosed,
    PoolInterrupted,
    ReplyKind,
    ReplyReader,
    SharedMemory,
    TaskOutcome,
    WorkerBoard,
    WorkerDied,
    WorkerReply,
    WorkerTask,
    anonymous_file,
)
from quickfit.data.workers.worker import FirstLook, FirstResult
from quickfit.errors import PipelineError
from quickfit.lab.child import Child, ChildOptions, python_interpreter

# A worker with nothing to do ends at once when asked; one that does not is made to.
_GRACE_S = 1.0
# The largest pipe that Linux gives to everybody: room for tasks while the training is busy.
_PIPE_BYTES = 1 << 20
_NO_TURN = -1
# A worker whose end the socket did not tell (a program it started holds it open) is found so.
_LOOK_MS = 1000
_SOON_MS = 50
_RECEIVE_BYTES = 1 << 16
# What workers find in their environment where the user has set nothing. Several workers that
# each use all cores stand in each other's way, and one that loads TensorFlow must not take the
# GPU from the training.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENCV_FOR_THREADS_NUM": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
_HIDDEN_GPUS = {"CUDA_VISIBLE_DEVICES": "-1"}


@dataclass(slots=True)
class WorkerProcess:
    """A process of the pool and the socket to it."""

    number: int
    child: Child
    socket: socket.socket
    reader: ReplyReader = field(default_factory=ReplyReader)


class PoolResources:
    """Descriptors, memory and processes; knows nothing of the pool, so that it can outlive it.

    Args:
        workers: how many processes there may be.
    """

    def __init__(self, workers: int) -> None:
        self.workers: list[WorkerProcess] = []
        self.is_closing = threading.Event()
        # Held by the thread that is inside the pool.
        self.in_use = threading.RLock()
        self._owner = os.getpid()
        self._memories: list[SharedMemory] = []
        self._descriptors: set[int] = set()
        board = self.memory("board")
        self.board = WorkerBoard(board, workers)
        tasks_out, self.tasks_in = self._pipe()
        lifeline_out, self._lifeline_in = self._pipe()
        self.woken, self._wake = self._pipe()
        self.shared = (tasks_out, lifeline_out, board.descriptor)
        os.set_blocking(self.tasks_in, False)
        with contextlib.suppress(OSError, AttributeError):  # Linux alone, and not past its limit
            fcntl.fcntl(self.tasks_in, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    @property
    def is_owner(self) -> bool:
        """Whether this is the process that started the workers, and not a fork of it."""
        return os.getpid() == self._owner

    def memory(self, name: str) -> SharedMemory:
        """Return new memory to share."""
        memory = SharedMemory(anonymous_file(name))
        self._memories.append(memory)
        return memory

    def keep(self, descriptor: int) -> None:
        """Hold a descriptor until `drop`, or the end."""
        self._descriptors.add(descriptor)

    def drop(self, descriptor: int) -> None:
        """Close a descriptor that is held."""
        if descriptor in self._descriptors:
            self._descriptors.remove(descriptor)
            os.close(descriptor)

    def give_back(self) -> None:
        """End the workers and give everything back; once."""
        if not self.is_owner:
            return
        self.is_closing.set()
        os.write(self._wake, b"w")
        # Without it, a thread that does not let go would keep the interpreter from ending.
        has_use = self.in_use.acquire(timeout=_GRACE_S)
        self._end_workers()
        for descriptor in list(self._descriptors):
            self.drop(descriptor)
        for memory in self._memories:
            memory.close()
        if has_use:
            self.in_use.release()

    def _end_workers(self) -> None:
        self.board.turn = _NO_TURN  # what is still in the pipe is not worth doing
        self.drop(self.tasks_in)
        self.drop(self._lifeline_in)
        until_s = time.monotonic() + _GRACE_S
        for worker in self.workers:
            if self.board.item_of(worker.number) != NO_TASK:
                worker.child.end()
            worker.socket.close()
        for worker in self.workers:
            worker.child.wait(max(0.0, until_s - time.monotonic()))
            worker.child.end()

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._descriptors.update(ends)
        return ends


class ProcessPool:
    """Processes that have the user's function, and the memory they answer in.

    Args:
        workers: how many there will be.
        slots: pieces of memory for a batch each.
    """

    def __init__(self, *, workers: int, slots: int) -> None:
        self._workers = workers
        self._held = PoolResources(workers)
        self._board = self._held.board
        self._board.edition = -1
        buffers = BatchBuffers()
        self.slots = [_Slot(self._held.memory("batch"), buffers) for _ in range(slots)]
        self.pending = [0] * slots
        self.version = 0
        self._interrupts = UnnoticedInterrupts()
        self._backlog: deque[bytes] = deque()
        self._poller = select.poll()
        self._poller.register(self._held.woken, select.POLLIN)
        self._by_descriptor: dict[int, WorkerProcess] = {}
        self._parcels: list[int] = []
        # Also at the end of the interpreter.
        self._close = weakref.finalize(self, self._held.give_back)

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed, or belongs to the process that this one is a fork of."""
        return self._held.is_closing.is_set() or not self._held.is_owner

    @property
    def turn(self) -> int:
        """The pass over the data that is in progress."""
        return self._board.turn

    @turn.setter
    def turn(self, value: int) -> None:
        if self._held.is_owner:
            self._board.turn = value

    def bring(self, content: object) -> None:
        """Take a job or a layout to all workers; they fetch it before their next task.

        Raises:
            NotCarriedError: part of it exists only in this process.
        """
        edition = self._board.edition + 1
        descriptor = pack_for_workers((edition, content))
        self._parcels.append(descriptor)
        self._held.keep(descriptor)
        for worker in self._held.workers:
            socket.send_fds(worker.socket, [b"p"], [descriptor])
        self._board.edition = edition
        if len(self._held.workers) == self._workers:
            self._forget_parcels()

    def start_workers(self, workers: int, look: FirstLook | None = None) -> None:
        """Start processes until there are so many; the first one takes the look, if any."""
        while len(self._held.workers) < workers:
            worker = self._start_worker(len(self._held.workers), look)
            self._by_descriptor[worker.socket.fileno()] = worker
            self._poller.register(worker.socket.fileno(), select.POLLIN)
            for descriptor in self._parcels:
                socket.send_fds(worker.socket, [b"p"], [descriptor])
        if workers == self._workers:
            self._forget_parcels()

    def first(self) -> FirstResult:
        """Return what the first worker saw in its look at the first items."""
        while True:
            for reply in self.wait():
                if isinstance(reply.content, FirstResult):
                    return reply.content

    def give(self, task: WorkerTask) -> None:
        """Add a task; the next free worker takes it."""
        self.pending[task.slot] += 1
        self._backlog.append(task.to_bytes())
        with self._held.in_use:
            self._send_backlog()

    def wait(self) -> list[WorkerReply]:
        """Return the replies that came, waiting for at least one."""
        replies: list[WorkerReply] = []
        with self._held.in_use:
            while not replies:
                self._send_backlog()
                ready = self._poller.poll(_SOON_MS if self._interrupts.is_waiting else _LOOK_MS)
                if self.is_closed:
                    raise PoolClosed
                for descriptor, _ in ready:
                    replies += self._receive_replies(self._by_descriptor[descriptor], replies)
                if not ready:
                    self._look_for_the_dead()
                self._mind_interrupts(replies)
        for reply in replies:
            if reply.kind is ReplyKind.DONE:
                self.pending[reply.slot] -= 1
            elif isinstance(reply.content, ItemFailure):
                raise JobBroken(reply.content.summary, reply.content.trace)
        return replies

    def close(self) -> None:
        """End the processes and give all memory back."""
        self._close()

    def _receive_replies(
        self, worker: WorkerProcess, others: list[WorkerReply]
    ) -> list[WorkerReply]:
        try:
            content = worker.socket.recv(_RECEIVE_BYTES)
        except ConnectionResetError:
            content = b""
        if content or others:
            return list(worker.reader.replies(content))
        raise self._worker_death(worker)

    def _mind_interrupts(self, replies: list[WorkerReply]) -> None:
        for reply in replies:
            if isinstance(reply.content, float) and self._interrupts.hear(reply.content):
                raise PoolInterrupted
        self._interrupts.settle()

    def _look_for_the_dead(self) -> None:
        for worker in self._held.workers:
            if worker.child.has_ended:
                raise self._worker_death(worker)

    def _worker_death(self, worker: WorkerProcess) -> WorkerDied:
        worker.child.wait(_LOOK_MS / 1000)
        code = worker.child.end()  # the user's code may have closed our socket
        return WorkerDied(self._board.item_of(worker.number), worker.child.pid, code or 0)

    def _send_backlog(self) -> None:
        if self.is_closed:
            raise PoolClosed
        while self._backlog:
            try:
                os.write(self._held.tasks_in, self._backlog[0])
            except BlockingIOError:  # the pipe is full: the workers have enough to do
                return
            self._backlog.popleft()

    def _start_worker(self, number: int, look: FirstLook | None) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        with theirs:
            shared = (theirs.fileno(), *self._held.shared, *(s.descriptor for s in self.slots))
            boot = str(Path(__file__).with_name("boot.py"))
            options = ChildOptions(
                env={**_ENVIRONMENT, **os.environ, **_HIDDEN_GPUS},
                pass_fds=shared,
                own_session=False,
                at_exit=False,  # `give_back` lets them end by themselves
            )
            try:
                child = Child([*python_interpreter(), boot, str(theirs.fileno())], options)
            except OSError as error:
                ours.close()
                raise PipelineError(
                    f"worker process {number + 1} of {self._workers} could not be started: {error}."
                    " With fewer workers it may: generator(..., workers=...); or use"
                    ' kind="threads"'
                ) from None
        worker = WorkerProcess(number, child, ours)
        self._held.workers.append(worker)
        self._send_letter(worker, look)
        return worker

    def _send_letter(self, worker: WorkerProcess, look: FirstLook | None) -> None:
        tasks, lifeline, board = self._held.shared
        letter = {
            "tasks": tasks,
            "lifeline": lifeline,
            "board": board,
            "slots": [slot.descriptor for slot in self.slots],
            "workers": self._workers,
            "number": worker.number,
            "look": dataclasses.asdict(look) if look and worker.number == 0 else None,
            "path": [str(place) for place in sys.path],
            "argv": sys.argv,
            "folder": _current_folder(),
        }
        descriptor = anonymous_file("letter")
        try:
            os.write(descriptor, json.dumps(letter).encode())
            socket.send_fds(worker.socket, [b"l"], [descriptor])
        finally:
            os.close(descriptor)

    def _forget_parcels(self) -> None:
        for descriptor in self._parcels:
            self._held.drop(descriptor)
        self._parcels.clear()


class _Slot:
    """Memory for one batch, seen from the owner."""

    def __init__(self, memory: SharedMemory, buffers: BatchBuffers) -> None:
        self._memory = memory
        self._buffers = buffers
        self.descriptor = memory.descriptor

    def take(self, layout: BatchLayout, rows: int, outcome: TaskOutcome) -> list[Array]:
        """Return copies of its arrays: the only copy on the way to TensorFlow."""
        shapes = outcome.shapes if layout.rows is None else layout.batch_shapes()
        memory = self._memory.mapped(bytes_needed(layout, shapes))
        taken = []
        for leaf, shape, view in zip(
            layout.leaves, shapes, memory_views(layout, shapes, memory), strict=True
        ):
            wanted = shape if layout.rows is None else (rows, *shape[1:])
            array = self._buffers.array(wanted, leaf.dtype)
            if not leaf.is_text:
                np.copyto(array, view if layout.rows is None else view[:rows])
            taken.append(array)
        return taken


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it has been deleted; workers stay where they are started
        return "."
