"""Does the work for the next images in threads, while the one before is written.

Hashing and decoding let other threads run; and where a file system is far away, several files are
on their way at once. Files that are near are read by the thread that writes: handing them over
takes longer than reading them.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from quickfit.data.entries import Entry, SourceImageError

T = TypeVar("T")
Content = bytes | SourceImageError

# Handing work to a thread costs as much as reading a small file: several at a time.
_PER_TASK = 4
_PER_HASH = 16
_GROUPS_AHEAD = 3
# A file in memory is read in 20 us, one on a disk in less than 10 ms, one on a network in more
# than this; seen from as many files.
_FAR_S = 0.001
_LOOKED_AT = 16
_FAR_THREADS = 8
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
        for task in _tasks(entries, _PER_TASK):
            waiting.append((task, pool.submit(_each, task, work)))
            while len(waiting) > threads + 1 or _bytes(waiting) > _AHEAD_BYTES:
                yield from _next(waiting)
        while waiting:
            yield from _next(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def hashed(
    entries: Iterable[Entry],
    read: Callable[[Entry], Content],
    clock: Callable[[], float] = time.perf_counter,
) -> Generator[tuple[Entry, Content, bytes], None, None]:
    """Yield each entry with its content and the SHA-256 of that, in their order."""
    waiting: deque[tuple[list[tuple[Entry, Content]], Future[list[bytes]]]] = deque()
    pool = ThreadPoolExecutor(1)
    try:
        contents = _contents(iter(entries), read, clock)
        while group := _group(contents):
            waiting.append((group, pool.submit(_digests, group)))
            if len(waiting) > _GROUPS_AHEAD:
                yield from _first(waiting)
        while waiting:
            yield from _first(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def _contents(
    entries: Iterator[Entry], read: Callable[[Entry], Content], clock: Callable[[], float]
) -> Iterator[tuple[Entry, Content]]:
    began, count = clock(), 0
    for entry in islice(entries, _LOOKED_AT):
        yield entry, read(entry)
        count += 1
    if count and (clock() - began) / count > _FAR_S:
        yield from ahead(entries, read, _FAR_THREADS)
    for entry in entries:
        yield entry, read(entry)


def _group(contents: Iterator[tuple[Entry, Content]]) -> list[tuple[Entry, Content]]:
    group: list[tuple[Entry, Content]] = []
    group_bytes = 0
    for entry, content in contents:
        group.append((entry, content))
        group_bytes += entry.size
        if len(group) == _PER_HASH or group_bytes >= _TASK_BYTES:
            break
    return group


def _digests(group: list[tuple[Entry, Content]]) -> list[bytes]:
    return [
        b"" if isinstance(content, SourceImageError) else hashlib.sha256(content).digest()
        for _, content in group
    ]


def _first(
    waiting: deque[tuple[list[tuple[Entry, Content]], Future[list[bytes]]]],
) -> Iterator[tuple[Entry, Content, bytes]]:
    group, future = waiting.popleft()
    for (entry, content), digest in zip(group, future.result(), strict=True):
        yield entry, content, digest


def _tasks(entries: Iterable[Entry], count: int) -> Iterator[list[Entry]]:
    task: list[Entry] = []
    task_bytes = 0
    for entry in entries:
        task.append(entry)
        task_bytes += entry.size
        if len(task) == count or task_bytes >= _TASK_BYTES:
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
