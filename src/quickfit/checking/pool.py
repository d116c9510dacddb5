"""Checks many files, in several processes where that is faster; the order is that of the paths."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from quickfit.capacity import whole_cores
from quickfit.checking._records import Checked
from quickfit.checking.places import trouble_of
from quickfit.checking.progress import Progress
from quickfit.checking.scanning import Scanner, Task

# Fewer files are done before other processes are up.
MIN_PARALLEL = 32
# Small enough to share the work evenly, large enough that neighbours share what was parsed.
MAX_CHUNK = 32
# Trees are many small objects that live long: looking through them for garbage is half the time.
GC_THRESHOLD = 200_000
_PR_SET_PDEATHSIG = 1
_scanner: Scanner


def check_all(task: Task, paths: Sequence[str], *, jobs: int, progress: Progress) -> list[Checked]:
    """Check files of a task; a process that dies costs the file it died of alone.

    Args:
        task: what is read together and what is told.
        paths: the files to check.
        jobs: how many processes may work; 0 for as many as there are cores.
        progress: hears how many files are done.
    """
    count = min(jobs or whole_cores(), -(-len(paths) // 2) or 1)
    progress.begin(len(paths))
    try:
        if count == 1 or (not jobs and len(paths) < MIN_PARALLEL):
            return _in_turn(task, paths, progress)
        return _in_parallel(task, _chunks(paths, count), count, progress)
    finally:
        progress.end()


def _in_turn(task: Task, paths: Sequence[str], progress: Progress) -> list[Checked]:
    scanner = Scanner(task)
    done = []
    with _rare_collections():
        for path in paths:
            done.append(scanner.check(path))
            progress.advance(1)
    return done


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _chunks(paths: Sequence[str], count: int) -> list[Sequence[str]]:
    size = max(1, min(MAX_CHUNK, len(paths) // (count * 4)))
    return [paths[at : at + size] for at in range(0, len(paths), size)]


def _in_parallel(
    task: Task, chunks: Sequence[Sequence[str]], count: int, progress: Progress
) -> list[Checked]:
    done: dict[int, list[Checked]] = {}
    _run(task, dict(enumerate(chunks)), count, done, progress)
    for number, chunk in enumerate(chunks):
        if number not in done:  # its process died, or one that worked beside it
            done[number] = _one_by_one(task, chunk, progress)
    return [checked for number in range(len(chunks)) for checked in done[number]]


def _run(
    task: Task,
    chunks: dict[int, Sequence[str]],
    count: int,
    done: dict[int, list[Checked]],
    progress: Progress,
) -> None:
    """Check chunks until all are done or a process has died."""
    with _pool(task, count) as pool:
        try:
            waiting = {pool.submit(_check_chunk, chunk): n for n, chunk in chunks.items()}
            _gather(waiting, done, progress)
        except KeyboardInterrupt:
            for child in multiprocessing.active_children():
                child.kill()  # those that a signal to this process alone did not reach
            raise
        except BrokenProcessPool:
            return  # it died while more was handed out


def _gather(
    waiting: dict[Future[list[Checked]], int], done: dict[int, list[Checked]], progress: Progress
) -> None:
    while waiting:
        ready, _ = wait(waiting, timeout=progress.pause_s, return_when=FIRST_COMPLETED)
        progress.advance(0)
        for future in ready:
            number = waiting.pop(future)
            answer = _answer(future)
            if answer is not None:
                done[number] = answer
                progress.advance(len(answer))


def _one_by_one(task: Task, chunk: Sequence[str], progress: Progress) -> list[Checked]:
    """Check files each in a process of its own, to know which one ends it."""
    found = []
    for path in chunk:
        done: dict[int, list[Checked]] = {}
        _run(task, {0: (path,)}, 1, done, progress)
        found += done.get(0) or [_died(path)]
    return found


def _died(path: str) -> Checked:
    message = "the process that checked this file died (out of memory, or an error of Python's own)"
    return Checked(path, troubles=(trouble_of(path, message),))


def _answer(future: Future[list[Checked]]) -> list[Checked] | None:
    try:
        return future.result()
    except BrokenProcessPool:
        return None


def _pool(task: Task, count: int) -> ProcessPoolExecutor:
    # A forked process has everything imported already.
    method = "fork" if sys.platform == "linux" else None
    return ProcessPoolExecutor(
        count, multiprocessing.get_context(method), initializer=_start, initargs=(task, os.getpid())
    )


def _start(task: Task, parent: int) -> None:
    """Make this process ready: it ends with its parent, and at once and silently on Ctrl-C."""
    global _scanner
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 20)
    _scanner = Scanner(task)


def _check_chunk(paths: Sequence[str]) -> list[Checked]:
    return [_scanner.check(path) for path in paths]
