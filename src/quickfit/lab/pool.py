"""Several children that work on items: each takes the next one, and a death costs its item alone.

    pool = WorkerPool(scan_file, settings, count=4)
    for event in pool.run(files):
        if isinstance(event, Done):
            keep(event.item, event.answer)
        elif isinstance(event, Died):
            pool.again(smaller(event.item))

The function gets an item, what is the same for all items, and `say`, which sends news about the
item before its answer. It is a plain function of a module: fresh workers import it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Generic, TypeVar

from quickfit.lab.child import DEVNULL, Child, ChildOptions, python_command
from quickfit.lab.child_side import settle

Item = TypeVar("Item")
Common = TypeVar("Common")
Say = Callable[[Any], None]  # Any: what a function says about its item is between it and its caller
# So often workers are looked at whose end the pipe did not show.
TICK_S = 0.25
_GONE = (EOFError, BrokenPipeError, ConnectionResetError)


@dataclass(frozen=True)
class News(Generic[Item]):
    """What a worker said about its item before the answer."""

    item: Item
    message: Any


@dataclass(frozen=True)
class Done(Generic[Item]):
    """An item with what the function returned for it."""

    item: Item
    answer: Any


@dataclass(frozen=True)
class Died(Generic[Item]):
    """The item that a worker had when it died, and its exit code; negative for a signal."""

    item: Item
    code: int | None


@dataclass(frozen=True)
class Waited:
    """Nothing came for a moment; a good time to refresh what is shown."""


Event = News[Item] | Done[Item] | Died[Item] | Waited


class WorkerError(Exception):
    """The function raised in a worker: an error of the program, with its traceback."""


@dataclass(eq=False)
class _Worker(Generic[Item]):
    child: Child
    connection: Connection
    item: Item


@dataclass(frozen=True)
class WorkerOptions:
    """How workers are started.

    Args:
        forks: each is a fork of this process, which has everything loaded; only where it has no
            other threads. Else a fresh Python, which imports the function's module only.
        env: added to the environment of fresh ones.
        pass_fds: descriptors that fresh ones inherit.
    """

    forks: bool = False
    env: Mapping[str, str] | None = None
    pass_fds: tuple[int, ...] = ()


class WorkerPool(Generic[Item, Common]):
    """Works on items in several processes, which end with it.

    Args:
        work: called as `work(item, common, say)` in a worker; returns the answer.
        common: what is the same for all items.
        count: how many work at the same time.
        options: how they are started.
    """

    def __init__(
        self,
        work: Callable[[Item, Common, Say], Any],
        common: Common,
        *,
        count: int,
        options: WorkerOptions | None = None,
    ) -> None:
        self._task = (work, common)
        self._count = count
        self._options = options or WorkerOptions()
        self._workers: list[_Worker[Item]] = []
        self._again: deque[Item] = deque()

    def again(self, *items: Item) -> None:
        """Work on these next; for items whose worker died, changed so that it ends otherwise."""
        self._again.extend(items)

    def run(
        self, items: Iterable[Item], *, tick_s: float = TICK_S
    ) -> Generator[Event[Item], None, None]:
        """Yield what becomes of each item, as it comes; `items` are asked for one by one.

        Leaving the loop early, or Ctrl-C, ends the workers at once.

        Raises:
            WorkerError: the function raised.
        """
        waiting = iter(items)
        try:
            while True:
                while len(self._workers) < self._count and self._start_next(waiting):
                    pass
                if not self._workers:
                    return
                ready = wait([worker.connection for worker in self._workers], tick_s)
                for worker in [w for w in self._workers if w.connection in ready]:
                    yield self._heard(worker, waiting)
                if not ready:
                    # A program that a worker started may hold its pipe open.
                    dead = [w for w in self._workers if w.child.has_ended]
                    yield from map(self._bury, dead)
                    yield Waited()
        finally:
            for worker in self._workers:
                _end(worker)
            self._workers.clear()

    def _next(self, waiting: Iterator[Item]) -> tuple[Item] | None:
        if self._again:
            return (self._again.popleft(),)
        for item in waiting:
            return (item,)
        return None

    def _start_next(self, waiting: Iterator[Item]) -> bool:
        found = self._next(waiting)
        if found is None:
            return False
        ours, theirs = Pipe()
        with theirs:
            child = (
                _fork(theirs, self._task) if self._options.forks else _spawn(theirs, self._options)
            )
        worker = _Worker(child, ours, found[0])
        self._workers.append(worker)
        with contextlib.suppress(*_GONE):  # it has died; listening to it shows that
            if not self._options.forks:
                ours.send_bytes(pickle.dumps(self._task))
            ours.send(found[0])
        return True

    def _heard(self, worker: _Worker[Item], waiting: Iterator[Item]) -> Event[Item]:
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):  # it has ended, maybe in the middle of a message
            return self._bury(worker)
        if kind == "news":
            return News(worker.item, content)
        if kind == "raised":
            raise WorkerError(content)
        done = Done(worker.item, content)
        self._give_next(worker, waiting)
        return done

    def _give_next(self, worker: _Worker[Item], waiting: Iterator[Item]) -> None:
        del worker.item  # released before the next one is asked for: it may be large
        found = self._next(waiting)
        if found is None:
            self._workers.remove(worker)
            _end(worker)
            return
        (worker.item,) = found
        with contextlib.suppress(*_GONE):  # it has died; listening to it shows that
            worker.connection.send(worker.item)

    def _bury(self, worker: _Worker[Item]) -> Died[Item]:
        self._workers.remove(worker)
        worker.child.wait(1.0)
        return Died(worker.item, _end(worker))


def _end(worker: _Worker[Any]) -> int | None:
    worker.connection.close()
    return worker.child.end()


_PROGRAM = "from quickfit.lab.pool import worker_main; worker_main()"


def _spawn(theirs: Connection, options: WorkerOptions) -> Child:
    number = theirs.fileno()
    how = ChildOptions(
        env=os.environ | dict(options.env or {}),
        stdout=DEVNULL,
        pass_fds=(number, *options.pass_fds),
        own_session=False,
    )
    return Child(python_command(_PROGRAM, str(number), str(os.getpid())), how)


def _fork(theirs: Connection, task: tuple[Any, Any]) -> Child:
    parent = os.getpid()
    return Child.fork(lambda: _serve(theirs, parent, task))


def worker_main() -> None:
    """Be a worker of the process at the other end of the connection on the command line."""
    with Connection(int(sys.argv[1])) as connection:
        _serve(connection, int(sys.argv[2]))


def _serve(connection: Connection, parent: int, task: tuple[Any, Any] | None = None) -> None:
    """Work on what comes until nothing more does."""
    settle(parent)
    # Ctrl-C reaches the whole group; the process that asked decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def say(message: Any) -> None:
        connection.send(("news", message))

    try:
        work, common = task or pickle.loads(connection.recv_bytes())
        while True:
            # No name for the item: it would be kept while the next one comes.
            connection.send(_worked(work, connection.recv(), common, say))
    except _GONE:
        return  # the parent has ended, or asks for nothing more


def _worked(work: Any, item: Any, common: Any, say: Say) -> tuple[str, Any]:
    try:
        return "done", work(item, common, say)
    except _GONE:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, the parent shows it
        return "raised", traceback.format_exc()
