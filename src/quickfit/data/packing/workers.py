"""Makes shards, in this process or in worker processes that are replaced once if they die."""

from __future__ import annotations

import hashlib
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from quickfit.data.entries import Entry, Rejection, SourceImageError
from quickfit.data.packing import shards
from quickfit.data.packing.manifest import PackLayout
from quickfit.data.packing.plan import PackSettings
from quickfit.data.packing.shards import FramedRecord, ShardWriter, frame_record, read_shard_note
from quickfit.errors import PipelineError, QuickfitError
from quickfit.lab.child import describe_end
from quickfit.lab.pool import Died, Done, News, Say, WorkerOptions, WorkerPool
from quickfit.units import size

_T = TypeVar("_T")
_Content = bytes | SourceImageError

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
# Often enough to follow, and to notice that nobody listens any more.
REPORT_EVERY_S = 0.1
_Prepared: TypeAlias = Generator[tuple[Entry, FramedRecord | SourceImageError], None, None]


def work_ahead(
    entries: Iterable[Entry], work: Callable[[Entry], _T], threads: int
) -> Generator[tuple[Entry, _T], None, None]:
    """Yield each entry with what `work` makes of it, in their order.

    What `work` raises is raised here, when its entry comes.
    """
    waiting: deque[tuple[list[Entry], Future[list[_T]]]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for task in _entry_tasks(entries, _PER_TASK):
            waiting.append((task, pool.submit(_work_on_task, task, work)))
            while len(waiting) > threads + 1 or _waiting_bytes(waiting) > _AHEAD_BYTES:
                yield from _finished_task(waiting)
        while waiting:
            yield from _finished_task(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def hash_ahead(
    entries: Iterable[Entry],
    read: Callable[[Entry], _Content],
    clock: Callable[[], float] = time.perf_counter,
) -> Generator[tuple[Entry, _Content, bytes], None, None]:
    """Yield each entry with its content and the SHA-256 of that, in their order."""
    waiting: deque[tuple[list[tuple[Entry, _Content]], Future[list[bytes]]]] = deque()
    pool = ThreadPoolExecutor(1)
    try:
        contents = _read_contents(iter(entries), read, clock)
        while group := _next_group(contents):
            waiting.append((group, pool.submit(_hash_group, group)))
            if len(waiting) > _GROUPS_AHEAD:
                yield from _finished_group(waiting)
        while waiting:
            yield from _finished_group(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def _read_contents(
    entries: Iterator[Entry], read: Callable[[Entry], _Content], clock: Callable[[], float]
) -> Iterator[tuple[Entry, _Content]]:
    began, count = clock(), 0
    for entry in islice(entries, _LOOKED_AT):
        yield entry, read(entry)
        count += 1
    if count and (clock() - began) / count > _FAR_S:
        yield from work_ahead(entries, read, _FAR_THREADS)
    for entry in entries:
        yield entry, read(entry)


def _next_group(contents: Iterator[tuple[Entry, _Content]]) -> list[tuple[Entry, _Content]]:
    group: list[tuple[Entry, _Content]] = []
    group_bytes = 0
    for entry, content in contents:
        group.append((entry, content))
        group_bytes += entry.size
        if len(group) == _PER_HASH or group_bytes >= _TASK_BYTES:
            break
    return group


def _hash_group(group: list[tuple[Entry, _Content]]) -> list[bytes]:
    return [
        b"" if isinstance(content, SourceImageError) else hashlib.sha256(content).digest()
        for _, content in group
    ]


def _finished_group(
    waiting: deque[tuple[list[tuple[Entry, _Content]], Future[list[bytes]]]],
) -> Iterator[tuple[Entry, _Content, bytes]]:
    group, future = waiting.popleft()
    for (entry, content), digest in zip(group, future.result(), strict=True):
        yield entry, content, digest


def _entry_tasks(entries: Iterable[Entry], count: int) -> Iterator[list[Entry]]:
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


def _work_on_task(task: list[Entry], work: Callable[[Entry], _T]) -> list[_T]:
    return [work(entry) for entry in task]


def _waiting_bytes(waiting: Iterable[tuple[list[Entry], Future[list[_T]]]]) -> int:
    return sum(entry.size for task, _ in waiting for entry in task)


def _finished_task(
    waiting: deque[tuple[list[Entry], Future[list[_T]]]],
) -> Iterator[tuple[Entry, _T]]:
    task, future = waiting.popleft()
    return zip(task, future.result(), strict=True)


class ImageReader(Protocol):
    """What reads the images of a source."""

    def read(self, entry: Entry) -> bytes:
        """Return the image's file as it is."""
        ...


class ShardContext(NamedTuple):
    """What is the same for all shards of a pack."""

    layout: PackLayout
    settings: PackSettings
    reader: ImageReader


class ShardJob(NamedTuple):
    """One shard to make.

    Args:
        name: of the shard.
        entries: its images, in their order.
        is_retry: whether a worker has died over it: then each image is named before it is touched.
    """

    name: str
    entries: list[Entry]
    is_retry: bool = False


class PackProgress(NamedTuple):
    """What has been done since the last report.

    Args:
        images: how many were handled: packed, left out or found in place.
        bytes: the size of what they became.
        rejected: how many of the images were left out.
        kept: how many of the images were in place already.
        at: the image that comes next, where each one is named.
    """

    images: int = 0
    bytes: int = 0
    rejected: int = 0
    kept: int = 0
    at: str = ""

    def plus(self, other: PackProgress) -> PackProgress:
        """Return both together."""
        return PackProgress(
            self.images + other.images,
            self.bytes + other.bytes,
            self.rejected + other.rejected,
            self.kept + other.kept,
        )

    def negative(self) -> PackProgress:
        """Return what takes this back."""
        return PackProgress(-self.images, -self.bytes, -self.rejected, -self.kept)


class ProgressTicker:
    """Gathers progress and reports it every tenth of a second."""

    def __init__(
        self, report: Callable[[PackProgress], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._clock = clock
        self._next_s = clock() + REPORT_EVERY_S
        self._gathered: list[PackProgress] = []

    def add(self, done: PackProgress) -> None:
        """Count what was done."""
        self._gathered.append(done)
        if self._clock() >= self._next_s:
            self.flush()

    def flush(self) -> None:
        """Report what was gathered."""
        self._report(
            PackProgress(
                sum(done.images for done in self._gathered),
                sum(done.bytes for done in self._gathered),
                sum(done.rejected for done in self._gathered),
                sum(done.kept for done in self._gathered),
            )
        )
        self._gathered = []
        self._next_s = self._clock() + REPORT_EVERY_S


def make_shard(
    job: ShardJob, workshop: ShardContext, report: Callable[[PackProgress], None]
) -> None:
    """Put a shard in its place, unless it is there and whole.

    Raises:
        OSError: it cannot be written.
        PipelineError: the machine keeps the source from being read.
    """
    files = workshop.layout.shard(job.name)
    ticker = ProgressTicker(report)
    note = read_shard_note(files)
    if note is not None and note.count + len(note.rejected) == len(job.entries):
        images = len(job.entries)
        ticker.add(PackProgress(images, note.bytes, len(note.rejected), kept=images))
    else:
        prepared = (
            _records_one_by_one(job, workshop, report)
            if job.is_retry
            else _records_ahead(job, workshop)
        )
        with ShardWriter(workshop.layout, files) as writer, closing(prepared):
            for entry, record in prepared:
                _write_record(entry, record, writer, ticker)
            writer.place()
    ticker.flush()


def _write_record(
    entry: Entry,
    record: FramedRecord | SourceImageError,
    writer: ShardWriter,
    ticker: ProgressTicker,
) -> None:
    before = writer.bytes
    if isinstance(record, SourceImageError):
        writer.reject(Rejection(entry.name, record.reason, record.detail))
        ticker.add(PackProgress(1, rejected=1))
    else:
        writer.add(record)
        ticker.add(PackProgress(1, writer.bytes - before))


def _records_one_by_one(
    job: ShardJob, workshop: ShardContext, report: Callable[[PackProgress], None]
) -> _Prepared:
    for entry in job.entries:
        report(PackProgress(at=entry.name))
        yield entry, _make_record(entry, _read_content(entry, workshop), workshop.settings)


def _records_ahead(job: ShardJob, workshop: ShardContext) -> _Prepared:
    settings = workshop.settings
    if settings.check == "quick":
        copied = hash_ahead(job.entries, lambda entry: _read_content(entry, workshop))
        with closing(copied):
            for entry, content, digest in copied:
                yield entry, _make_record(entry, content, settings, digest)
        return
    # Only read ahead: pixels of several large images would take too much memory.
    contents = work_ahead(job.entries, lambda entry: _read_content(entry, workshop), 1)
    with closing(contents):
        for entry, content in contents:
            yield entry, _make_record(entry, content, settings)


def _read_content(entry: Entry, workshop: ShardContext) -> bytes | SourceImageError:
    try:
        return workshop.reader.read(entry)
    except SourceImageError as error:
        return error
    except MemoryError as error:
        raise _out_of_memory(entry) from error


def _make_record(
    entry: Entry,
    content: bytes | SourceImageError,
    settings: PackSettings,
    sha256: bytes | None = None,
) -> FramedRecord | SourceImageError:
    if isinstance(content, SourceImageError):
        return content
    try:
        return frame_record(
            shards.image_record(content, entry.name, entry.label, settings, sha256=sha256)
        )
    except SourceImageError as error:
        return error
    except MemoryError as error:
        raise _out_of_memory(entry) from error


def _out_of_memory(entry: Entry) -> PipelineError:
    return PipelineError(
        f"{entry.name}: there is not enough memory for this image ({size(entry.size)} in its "
        "file).\nUse fewer workers, or leave such images out:\n"
        "    quickfit pack SRC DST --workers 1\n"
        "    quickfit pack SRC DST --max-pixels 50000000"
    )


class ShardFailure(NamedTuple):
    """A shard cannot be made, and trying again would not help.

    Args:
        errno: of the operating system, where the shard could not be written.
        file: that could not be written.
        message: for the user, where there is one.
        traceback: of what nobody expected.
    """

    errno: int = 0
    file: str = ""
    message: str = ""
    traceback: str = ""


class ShardFailedError(Exception):
    """A worker says that its shard cannot be made; never reaches a user."""

    def __init__(self, failed: ShardFailure) -> None:
        super().__init__(failed.message)
        self.failed = failed


# NumPy starts a thread for every core, for algebra that no worker does.
_WORKER_ENV = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def make_shards(
    jobs: Iterable[ShardJob],
    context: ShardContext,
    *,
    count: int,
    lock: int,
    show: Callable[[PackProgress], None],
) -> None:
    """Let worker processes make all shards, and pass on what they report.

    Args:
        jobs: the shards.
        context: what workers need for every shard.
        count: how many work at the same time.
        lock: the descriptor of the folder's lock, which they hold too.
        show: called with what was done since the last call.

    Raises:
        ShardFailedError: one of them cannot be made.
        PipelineError: two workers died over the same shard.
    """
    options = WorkerOptions(env=_WORKER_ENV, pass_fds=(lock,))
    pool = WorkerPool(_make_in_worker, context, count=count, options=options)
    done: dict[str, PackProgress] = {}
    at: dict[str, str] = {}
    with closing(pool.run(jobs)) as events:
        for event in events:
            if isinstance(event, News):
                name, progress = event.item.name, event.message
                at[name] = progress.at or at.get(name, "")
                done[name] = done.get(name, PackProgress()).plus(progress)
                show(progress)
            elif isinstance(event, Done):
                done.pop(event.item.name, None)
                if event.answer is not None:
                    raise ShardFailedError(event.answer)
            elif isinstance(event, Died):
                job = event.item
                # The next worker begins the shard anew.
                show(done.pop(job.name, PackProgress()).negative())
                if job.is_retry:
                    raise PipelineError(_death_text(job.name, at.get(job.name, ""), event.code))
                pool.again(job._replace(is_retry=True))


def _make_in_worker(job: ShardJob, context: ShardContext, say: Say) -> ShardFailure | None:
    try:
        make_shard(job, context, say)
    except QuickfitError as error:
        return ShardFailure(message=str(error))
    except (BrokenPipeError, ConnectionResetError):
        raise  # the pack has ended
    except OSError as error:
        return ShardFailure(
            errno=error.errno or 0, file=str(error.filename or ""), message=str(error)
        )
    except Exception:  # noqa: BLE001 # caught: hostile
        return ShardFailure(traceback=traceback.format_exc())
    return None


def _death_text(name: str, at: str, code: int | None) -> str:
    remedy = "Leave that image out" if at else "Look at what it wrote above"
    if code == -signal.SIGKILL:
        remedy = "The memory may be too small: use fewer workers or a lower --max-pixels"
    place = f", at the image {at!r}" if at else ""
    return (
        f"{name}: the worker that makes this shard died twice (it {describe_end(code)}){place}.\n"
        f"{remedy}, and run the same command again; it goes on where it stopped:\n"
        "    quickfit pack SRC DST --workers 1"
    )
