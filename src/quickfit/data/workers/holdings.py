"""What a crew of processes holds of the machine, and how all of it is given back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field

from quickfit.data.workers.board import NOTHING, Board
from quickfit.data.workers.memory import SharedMemory, anonymous_file
from quickfit.data.workers.messages import ReplyReader

# A worker with nothing to do ends at once when asked; one that does not is made to.
_GRACE_S = 1.0
# The largest pipe that Linux gives to everybody: room for tasks while the training is busy.
_PIPE_BYTES = 1 << 20
_NO_TURN = -1


@dataclass(slots=True)
class Worker:
    """A process of the crew and the socket to it."""

    number: int
    process: subprocess.Popen[bytes]
    socket: socket.socket
    reader: ReplyReader = field(default_factory=ReplyReader)


class Holdings:
    """Descriptors, memory and processes; knows nothing of the crew, so that it can outlive it.

    Args:
        workers: how many processes there may be.
    """

    def __init__(self, workers: int) -> None:
        self.workers: list[Worker] = []
        self.is_closing = threading.Event()
        # Held by the thread that is inside the crew.
        self.in_use = threading.RLock()
        self._owner = os.getpid()
        self._memories: list[SharedMemory] = []
        self._descriptors: set[int] = set()
        board = self.memory("board")
        self.board = Board(board, workers)
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
            if self.board.item_of(worker.number) != NOTHING:
                worker.process.kill()
            worker.socket.close()
        for worker in self.workers:
            try:
                worker.process.wait(timeout=max(0.0, until_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._descriptors.update(ends)
        return ends
