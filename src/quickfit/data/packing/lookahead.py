"""Does the work for the next images in threads, while the one before is written.

Reading, hashing and decoding let other threads run; and where a file system is far away, several
files are on their way at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from quickfit.data.entries import Entry

T = TypeVar("T")

# Handing work to a thread costs as much as reading a small file: several at a time.
_PER_TASK = 4
_TASK_BYTES = 2_000_000
# However large images are, not more than these wait to be written.
_AHEAD_BYTES = 32_000_000


def ahead(
    entries: Iterable[Entry], work: Callable[[Entry], T], threads: int
) -> Generator[tuple[Entry, T], None, None]:
    """Yield each entry with what `work` makes of it, in their order.

    What `work` raises is raised here, when its entry comes.
    """
    waiting: deque[tuple[list[Entry], Future[list[T]]]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for task in _tasks(entries):
            waiting.append((task, pool.submit(_each, task, work)))
            while len(waiting) > threads + 1 or _bytes(waiting) > _AHEAD_BYTES:
                yield from _next(waiting)
        while waiting:
            yield from _next(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def _tasks(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    task: list[Entry] = []
    task_bytes = 0
    for entry in entries:
        task.append(entry)
        task_bytes += entry.size
        if len(task) == _PER_TASK or task_bytes >= _TASK_BYTES:
            yield task
            task, task_bytes = [], 0
    if task:
        yield task


def _each(task: list[Entry], work: Callable[[Entry], T]) -> list[T]:
    return [work(entry) for entry in task]


def _bytes(waiting: Iterable[tuple[list[Entry], Future[list[T]]]]) -> int:
    return sum(entry.size for task, _ in waiting for entry in task)


def _next(waiting: deque[tuple[list[Entry], Future[list[T]]]]) -> Iterator[tuple[Entry, T]]:
    task, future = waiting.popleft()
    return zip(task, future.result(), strict=True)
