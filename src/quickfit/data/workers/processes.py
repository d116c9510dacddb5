"""Workers that are processes: fresh interpreters, never forks, and nothing left behind."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import socket
import subprocess
import sys
import weakref
from collections import deque
from pathlib import Path

import numpy as np

from quickfit.data.workers.buffers import Buffers
from quickfit.data.workers.carrying import parcel
from quickfit.data.workers.crew import CrewClosed, CrewInterrupted, JobBroken, WorkerDied
from quickfit.data.workers.holdings import Holdings, Worker
from quickfit.data.workers.interrupts import Interrupts, held_back, let_through
from quickfit.data.workers.layout import Layout, bytes_needed, views
from quickfit.data.workers.memory import SharedMemory, anonymous_file
from quickfit.data.workers.messages import Failure, Kind, Outcome, Reply, Task
from quickfit.data.workers.results import Array
from quickfit.data.workers.working import First, FirstLook
from quickfit.errors import PipelineError

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


class ProcessCrew:
    """Processes that have the user's function, and the memory they answer in.

    Args:
        workers: how many there will be.
        slots: pieces of memory for a batch each.
    """

    def __init__(self, *, workers: int, slots: int) -> None:
        self._workers = workers
        self._held = Holdings(workers)
        self._board = self._held.board
        self._board.edition = -1
        buffers = Buffers()
        self.slots = [_Slot(self._held.memory("batch"), buffers) for _ in range(slots)]
        self.pending = [0] * slots
        self.version = 0
        self._interrupts = Interrupts()
        self._backlog: deque[bytes] = deque()
        self._poller = select.poll()
        self._poller.register(self._held.woken, select.POLLIN)
        self._by_descriptor: dict[int, Worker] = {}
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
        descriptor = parcel((edition, content))
        self._parcels.append(descriptor)
        self._held.keep(descriptor)
        for worker in self._held.workers:
            socket.send_fds(worker.socket, [b"p"], [descriptor])
        self._board.edition = edition
        if len(self._held.workers) == self._workers:
            self._forget_parcels()

    def hire(self, workers: int, look: FirstLook | None = None) -> None:
        """Start processes until there are so many; the first one takes the look, if any."""
        while len(self._held.workers) < workers:
            worker = self._started(len(self._held.workers), look)
            self._by_descriptor[worker.socket.fileno()] = worker
            self._poller.register(worker.socket.fileno(), select.POLLIN)
            for descriptor in self._parcels:
                socket.send_fds(worker.socket, [b"p"], [descriptor])
        if workers == self._workers:
            self._forget_parcels()

    def first(self) -> First:
        """Return what the first worker saw in its look at the first items."""
        while True:
            for reply in self.wait():
                if isinstance(reply.content, First):
                    return reply.content

    def give(self, task: Task) -> None:
        """Add a task; the next free worker takes it."""
        self.pending[task.slot] += 1
        self._backlog.append(task.to_bytes())
        with self._held.in_use:
            self._send_backlog()

    def wait(self) -> list[Reply]:
        """Return the replies that came, waiting for at least one."""
        replies: list[Reply] = []
        with self._held.in_use:
            while not replies:
                self._send_backlog()
                ready = self._poller.poll(_SOON_MS if self._interrupts.is_waiting else _LOOK_MS)
                if self.is_closed:
                    raise CrewClosed
                for descriptor, _ in ready:
                    replies += self._received(self._by_descriptor[descriptor], replies)
                if not ready:
                    self._look_for_the_dead()
                self._mind_interrupts(replies)
        for reply in replies:
            if reply.kind is Kind.DONE:
                self.pending[reply.slot] -= 1
            elif isinstance(reply.content, Failure):
                raise JobBroken(reply.content.summary, reply.content.trace)
        return replies

    def close(self) -> None:
        """End the processes and give all memory back."""
        self._close()

    def _received(self, worker: Worker, others: list[Reply]) -> list[Reply]:
        try:
            content = worker.socket.recv(_RECEIVE_BYTES)
        except ConnectionResetError:
            content = b""
        if content or others:
            return list(worker.reader.replies(content))
        raise self._died(worker)

    def _mind_interrupts(self, replies: list[Reply]) -> None:
        for reply in replies:
            if isinstance(reply.content, float) and self._interrupts.hear(reply.content):
                raise CrewInterrupted
        self._interrupts.settle()

    def _look_for_the_dead(self) -> None:
        for worker in self._held.workers:
            if worker.process.poll() is not None:
                raise self._died(worker)

    def _died(self, worker: Worker) -> WorkerDied:
        try:
            code = worker.process.wait(timeout=_LOOK_MS / 1000)
        except subprocess.TimeoutExpired:  # the user's code closed our socket
            worker.process.kill()
            code = worker.process.wait()
        return WorkerDied(self._board.item_of(worker.number), worker.process.pid, code)

    def _send_backlog(self) -> None:
        if self.is_closed:
            raise CrewClosed
        while self._backlog:
            try:
                os.write(self._held.tasks_in, self._backlog[0])
            except BlockingIOError:  # the pipe is full: the workers have enough to do
                return
            self._backlog.popleft()

    def _started(self, number: int, look: FirstLook | None) -> Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            shared = (theirs.fileno(), *self._held.shared, *(s.descriptor for s in self.slots))
            command = [*_interpreter(), str(Path(__file__).with_name("boot.py"))]
            before = held_back()
            try:
                process = subprocess.Popen(
                    [*command, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    pass_fds=shared,
                    env={**_ENVIRONMENT, **os.environ, **_HIDDEN_GPUS},
                )
            except OSError as error:
                ours.close()
                raise PipelineError(
                    f"worker process {number + 1} of {self._workers} could not be started: {error}."
                    " With fewer workers it may: generator(..., workers=...); or use"
                    ' kind="threads"'
                ) from None
            finally:
                let_through(before)
        worker = Worker(number, process, ours)
        self._held.workers.append(worker)
        self._introduce(worker, look)
        return worker

    def _introduce(self, worker: Worker, look: FirstLook | None) -> None:
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
            "folder": _folder(),
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

    def __init__(self, memory: SharedMemory, buffers: Buffers) -> None:
        self._memory = memory
        self._buffers = buffers
        self.descriptor = memory.descriptor

    def take(self, layout: Layout, rows: int, outcome: Outcome) -> list[Array]:
        """Return copies of its arrays: the only copy on the way to TensorFlow."""
        shapes = outcome.shapes if layout.rows is None else layout.batch_shapes()
        memory = self._memory.mapped(bytes_needed(layout, shapes))
        taken = []
        for leaf, shape, view in zip(
            layout.leaves, shapes, views(layout, shapes, memory), strict=True
        ):
            wanted = shape if layout.rows is None else (rows, *shape[1:])
            array = self._buffers.array(wanted, leaf.dtype)
            if not leaf.is_text:
                np.copyto(array, view if layout.rows is None else view[:rows])
            taken.append(array)
        return taken


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it has been deleted; workers stay where they are started
        return "."


def _interpreter() -> list[str]:
    # The options of this interpreter (warnings, -X): what `multiprocessing` carries over too.
    options: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *options, "-P"]
