"""Makes the shards of a pack from the images of a source; runs in this process or in a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import NamedTuple, Protocol, TypeAlias

from quickfit.data.entries import Entry, Rejection, SourceImageError
from quickfit.data.packing import forms
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.lookahead import ahead, hashed
from quickfit.data.packing.settings import Settings
from quickfit.data.packing.shard import Framed, ShardWriter, framed, note_of_whole
from quickfit.errors import PipelineError
from quickfit.units import size

# Often enough to follow, and to notice that nobody listens any more.
REPORT_EVERY_S = 0.1

_Prepared: TypeAlias = Generator[tuple[Entry, Framed | SourceImageError], None, None]


class Reader(Protocol):
    """What reads the images of a source."""

    def read(self, entry: Entry) -> bytes:
        """Return the image's file as it is."""
        ...


class Workshop(NamedTuple):
    """What is the same for all shards of a pack."""

    layout: Layout
    settings: Settings
    reader: Reader


class Job(NamedTuple):
    """One shard to make.

    Args:
        name: of the shard.
        entries: its images, in their order.
        is_retry: whether a worker has died over it: then each image is named before it is touched.
    """

    name: str
    entries: list[Entry]
    is_retry: bool = False


class Progress(NamedTuple):
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

    def plus(self, other: Progress) -> Progress:
        """Return both together."""
        return Progress(
            self.images + other.images,
            self.bytes + other.bytes,
            self.rejected + other.rejected,
            self.kept + other.kept,
        )

    def negative(self) -> Progress:
        """Return what takes this back."""
        return Progress(-self.images, -self.bytes, -self.rejected, -self.kept)


class Ticker:
    """Gathers progress and reports it every tenth of a second."""

    def __init__(
        self, report: Callable[[Progress], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._clock = clock
        self._next_s = clock() + REPORT_EVERY_S
        self._gathered: list[Progress] = []

    def add(self, done: Progress) -> None:
        """Count what was done."""
        self._gathered.append(done)
        if self._clock() >= self._next_s:
            self.flush()

    def flush(self) -> None:
        """Report what was gathered."""
        self._report(
            Progress(
                sum(done.images for done in self._gathered),
                sum(done.bytes for done in self._gathered),
                sum(done.rejected for done in self._gathered),
                sum(done.kept for done in self._gathered),
            )
        )
        self._gathered = []
        self._next_s = self._clock() + REPORT_EVERY_S


def make_shard(job: Job, workshop: Workshop, report: Callable[[Progress], None]) -> None:
    """Put a shard in its place, unless it is there and whole.

    Raises:
        OSError: it cannot be written.
        PipelineError: the machine keeps the source from being read.
    """
    files = workshop.layout.shard(job.name)
    ticker = Ticker(report)
    note = note_of_whole(files)
    if note is not None and note.count + len(note.rejected) == len(job.entries):
        images = len(job.entries)
        ticker.add(Progress(images, note.bytes, len(note.rejected), kept=images))
    else:
        prepared = _one_by_one(job, workshop, report) if job.is_retry else _ahead(job, workshop)
        with ShardWriter(workshop.layout, files) as writer, closing(prepared):
            for entry, record in prepared:
                _write(entry, record, writer, ticker)
            writer.place()
    ticker.flush()


def _write(
    entry: Entry, record: Framed | SourceImageError, writer: ShardWriter, ticker: Ticker
) -> None:
    before = writer.bytes
    if isinstance(record, SourceImageError):
        writer.reject(Rejection(entry.name, record.reason, record.detail))
        ticker.add(Progress(1, rejected=1))
    else:
        writer.add(record)
        ticker.add(Progress(1, writer.bytes - before))


def _one_by_one(job: Job, workshop: Workshop, report: Callable[[Progress], None]) -> _Prepared:
    for entry in job.entries:
        report(Progress(at=entry.name))
        yield entry, _record(entry, _content(entry, workshop), workshop.settings)


def _ahead(job: Job, workshop: Workshop) -> _Prepared:
    settings = workshop.settings
    if settings.check == "quick":
        copied = hashed(job.entries, lambda entry: _content(entry, workshop))
        with closing(copied):
            for entry, content, digest in copied:
                yield entry, _record(entry, content, settings, digest)
        return
    # Only read ahead: pixels of several large images would take too much memory.
    contents = ahead(job.entries, lambda entry: _content(entry, workshop), 1)
    with closing(contents):
        for entry, content in contents:
            yield entry, _record(entry, content, settings)


def _content(entry: Entry, workshop: Workshop) -> bytes | SourceImageError:
    try:
        return workshop.reader.read(entry)
    except SourceImageError as error:
        return error
    except MemoryError as error:
        raise _no_memory(entry) from error


def _record(
    entry: Entry,
    content: bytes | SourceImageError,
    settings: Settings,
    sha256: bytes | None = None,
) -> Framed | SourceImageError:
    if isinstance(content, SourceImageError):
        return content
    try:
        return framed(forms.record(content, entry.name, entry.label, settings, sha256=sha256))
    except SourceImageError as error:
        return error
    except MemoryError as error:
        raise _no_memory(entry) from error


def _no_memory(entry: Entry) -> PipelineError:
    return PipelineError(
        f"{entry.name}: there is not enough memory for this image ({size(entry.size)} in its "
        "file).\nUse fewer workers, or leave such images out:\n"
        "    quickfit pack SRC DST --workers 1\n"
        "    quickfit pack SRC DST --max-pixels 50000000"
    )
