"""A worker process from within: takes tasks from the pipe and answers through its socket."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from quickfit.data.workers.board import LOADING, NOTHING, Board
from quickfit.data.workers.carrying import opened
from quickfit.data.workers.jobs import Job
from quickfit.data.workers.layout import Layout, bytes_needed, views
from quickfit.data.workers.memory import SharedMemory
from quickfit.data.workers.messages import TASK_BYTES, Kind, Outcome, Reply, Task, task_of
from quickfit.data.workers.results import Array
from quickfit.data.workers.working import FirstLook, look_at_first, made_ready, perform

# How long the main thread may take to end by itself once the owner is gone.
_GRACE_S = 0.5


def serve(owner: socket.socket, letter: Mapping[str, Any]) -> None:  # Any: as JSON has it
    """Work until the owner closes the pipe or is gone."""
    for descriptor in (owner.fileno(), letter["tasks"], letter["lifeline"], *letter["slots"]):
        # Programs that the user's function starts must not keep the owner waiting.
        os.set_inheritable(descriptor, False)
    threading.Thread(target=_end_with_owner, args=(letter["lifeline"],), daemon=True).start()
    server = _Server(owner, letter)
    threading.Thread(target=server.pass_on_interrupts, daemon=True).start()
    if not server.load():
        return
    while content := os.read(letter["tasks"], TASK_BYTES):
        server.work(task_of(content))


def _end_with_owner(lifeline: int) -> None:
    os.read(lifeline, 1)  # nobody writes: it returns when the owner is gone
    ending = threading.Timer(_GRACE_S, os._exit, (0,))
    ending.daemon = True
    ending.start()


class _Server:
    def __init__(self, owner: socket.socket, letter: Mapping[str, Any]) -> None:  # Any: JSON
        self._owner = owner
        self._number: int = letter["number"]
        self._board = Board(SharedMemory(letter["board"]), letter["workers"])
        self._slots = [_Slot(descriptor) for descriptor in letter["slots"]]
        self._look: dict[str, Any] | None = letter["look"]
        self._speaking = threading.Lock()
        self._edition = -1
        self._job: Job
        self._layout: Layout

    def load(self) -> bool:
        """Fetch the function and call it on the first items if asked; False where it fails."""
        self._note(LOADING)
        failure = made_ready(self._get_ready)
        if failure:
            self._say(Reply(Kind.BROKEN, content=failure))
            return False
        look = self._look
        first = look_at_first(FirstLook(**look), self._job, self._note) if look else None
        self._say(Reply(Kind.READY, content=first))
        self._note(NOTHING)
        return True

    def _get_ready(self) -> None:
        self._fetch()
        self._job.prepare()

    def pass_on_interrupts(self) -> None:
        """Tell the owner of each Ctrl-C: its main thread may not notice."""
        while True:
            # Held back in all threads since the process began.
            signal.sigwait({signal.SIGINT})
            self._say(Reply(Kind.INTERRUPTED, content=time.monotonic()))

    def work(self, task: Task) -> None:
        """Do a task and say so; of an old turn, only say so."""
        outcome = Outcome(is_undone=True)
        if task.turn == self._board.turn:
            while self._edition < self._board.edition:
                self._fetch()
            place = self._slots[task.slot]
            place.layout = self._layout
            outcome = perform(
                task, self._job, self._layout, place, lambda item: self._begin(item, task.turn)
            )
        content = None if outcome.is_plain else outcome
        self._say(Reply(Kind.DONE, task.turn, task.slot, content))
        self._note(NOTHING)

    def _begin(self, item: int, turn: int) -> bool:
        self._note(item)
        return self._board.turn == turn

    def _note(self, item: int) -> None:
        self._board.set_item(self._number, item)

    def _fetch(self) -> None:
        _, descriptors, _, _ = socket.recv_fds(self._owner, 1, 1)
        if not descriptors:
            raise SystemExit(0)  # the owner is gone
        self._edition, content = opened(descriptors[0])
        os.close(descriptors[0])
        if isinstance(content, Layout):
            self._layout = content
        else:
            self._job = content

    def _say(self, reply: Reply) -> None:
        # What the user's function printed is to be seen now, not when the worker ends.
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            with self._speaking:
                self._owner.sendall(reply.to_bytes())
        except (BrokenPipeError, ConnectionResetError):
            raise SystemExit(0) from None


class _Slot:
    """A place for results in shared memory."""

    def __init__(self, descriptor: int) -> None:
        self._memory = SharedMemory(descriptor)
        self._views: list[Array] = []
        self._viewed: Layout | None = None
        self.layout: Layout

    def put(self, row: int, arrays: list[Array]) -> None:
        """Write one result at its row."""
        if self._viewed is not self.layout:
            shapes = self.layout.batch_shapes()
            memory = self._memory.mapped(bytes_needed(self.layout, shapes))
            self._views, self._viewed = views(self.layout, shapes, memory), self.layout
        for leaf, view, array in zip(self.layout.leaves, self._views, arrays, strict=True):
            if not leaf.is_text:
                view[row, ...] = array

    def put_alone(self, arrays: list[Array]) -> None:
        """Write a result of any shape; the memory grows as it needs."""
        shapes = [array.shape for array in arrays]
        memory = self._memory.mapped(bytes_needed(self.layout, shapes))
        places = views(self.layout, shapes, memory)
        for leaf, view, array in zip(self.layout.leaves, places, arrays, strict=True):
            if not leaf.is_text:
                view[...] = array
