"""Worker processes that make shards: started, given jobs, replaced once if they die, ended."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path

import quickfit
from quickfit.data.packing._worker import Failed, Made
from quickfit.data.packing.making import Job, Progress, Workshop
from quickfit.errors import PipelineError

# Not `-m`: the modules may have been found on a path that only this process knows. They are
# looked for there last, so that a user's `queue.py` hides nothing.
_START = (
    "import sys; sys.path += [p for p in sys.argv[2:] if p not in sys.path]; "
    "from quickfit.data.packing._worker import main; main()"
)


_NO_JOB = Job("", [])


class ShardFailedError(Exception):
    """A worker says that its shard cannot be made; never reaches a user."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    job: Job
    at: str = ""
    done: Progress = field(default_factory=Progress)  # of this job

    def end(self) -> int:
        """End the process, if it has not ended; return how it did."""
        self.connection.close()
        self.process.kill()  # it writes aside, so at any moment
        return self.process.wait()


class Crew:
    """Several workers for one pack.

    Args:
        workshop: what they need for every shard.
        count: how many work at the same time.
        lock: the descriptor of the folder's lock, which they hold too.
    """

    def __init__(self, workshop: Workshop, *, count: int, lock: int) -> None:
        self._setup = pickle.dumps(workshop)
        self._count = count
        self._lock = lock
        self._workers: list[_Worker] = []

    def make(self, jobs: Iterable[Job], heed: Callable[[Progress], None]) -> None:
        """Let all shards be made, and pass on what the workers report.

        Raises:
            ShardFailedError: one of them cannot be made.
            PipelineError: two workers died over the same shard.
        """
        waiting = iter(jobs)
        try:
            for _ in range(self._count):
                self._hire(waiting)
            while self._workers:
                for connection in wait([worker.connection for worker in self._workers]):
                    worker = next(w for w in self._workers if w.connection is connection)
                    self._listen(worker, waiting, heed)
        finally:
            for worker in self._workers:
                worker.end()
            self._workers.clear()

    def _hire(self, waiting: Iterator[Job]) -> None:
        job = next(waiting, None)
        if job is not None:
            self._start(job)

    def _start(self, job: Job) -> None:
        ours, theirs = Pipe()
        with theirs, _interrupts_blocked():
            paths = [str(Path(quickfit.__file__).parent.parent), *filter(None, sys.path)]
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, str(theirs.fileno()), *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # NumPy starts a thread for every core, for algebra that no worker does.
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                pass_fds=(theirs.fileno(), self._lock),
            )
        worker = _Worker(process, ours, job)
        self._workers.append(worker)
        try:
            ours.send_bytes(self._setup)
            ours.send(job)
        except (BrokenPipeError, ConnectionResetError):
            return  # it has died; listening to it tells

    def _listen(
        self, worker: _Worker, waiting: Iterator[Job], heed: Callable[[Progress], None]
    ) -> None:
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            heed(worker.done.negative())  # the next worker begins the shard anew
            self._replace(worker)
            return
        if isinstance(message, Failed):
            raise ShardFailedError(message)
        if isinstance(message, Made):
            self._next(worker, waiting)
        else:
            worker.at = message.at or worker.at
            worker.done = worker.done.plus(message)
            heed(message)

    def _next(self, worker: _Worker, waiting: Iterator[Job]) -> None:
        worker.job = _NO_JOB  # let go of its images before those of the next one are listed
        job = next(waiting, None)
        if job is None:
            self._workers.remove(worker)
            worker.end()
            return
        worker.job, worker.done = job, Progress()
        try:
            worker.connection.send(job)
        except (BrokenPipeError, ConnectionResetError):
            return  # it has died; listening to it tells

    def _replace(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        code = worker.end()
        if worker.job.is_retry:
            raise PipelineError(_died(worker, code))
        self._start(worker.job._replace(is_retry=True))


def _died(worker: _Worker, code: int) -> str:
    how = f"exit code {code}"
    if code < 0:
        how = f"signal {-code}"
        if -code in set(signal.Signals):
            how = signal.Signals(-code).name
    remedy = "Leave that image out" if worker.at else "Look at what it wrote above"
    if code == -signal.SIGKILL:
        remedy = "The memory may be too small: use fewer workers or a lower --max-pixels"
    at = f", at the image {worker.at!r}" if worker.at else ""
    return (
        f"{worker.job.name}: the worker that makes this shard died twice ({how}){at}.\n"
        f"{remedy}, and run the same command again; it goes on where it stopped:\n"
        "    quickfit pack SRC DST --workers 1"
    )


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let a process start with Ctrl-C blocked: it would end it with a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
