"""Writes one shard aside, and puts it in its place when it is whole."""

from __future__ import annotations

import os
import threading
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from quickfit.data.entries import Rejection
from quickfit.data.packing import framing, json_lines
from quickfit.data.packing.behind import FileBehind
from quickfit.data.packing.example import Record, before_image

if TYPE_CHECKING:
    from quickfit.data.packing.layout import Layout, ShardFiles

_BUFFER_BYTES = 1 << 20
# A checksum of 100 kB takes 10 us: less than giving the lock up and getting it back.
_KEEP_GIL = 0


@dataclass(frozen=True, slots=True)
class Note:
    """What a shard in place must be, and what it left out.

    Args:
        count: its records.
        bytes: the size of its file.
        crc32c: of its file.
        index_bytes: the size of its list.
        index_crc32c: of its list.
        labels: how many records have each label.
        rejected: what was left out, as JSON objects, with the position among its images.
    """

    count: int
    bytes: int
    crc32c: int
    index_bytes: int
    index_crc32c: int
    labels: dict[str, int]
    rejected: list[dict[str, Any]]  # whatever JSON holds


class Framed(NamedTuple):
    """A record with what stands around its image in the file."""

    record: Record
    head: bytes
    tail: bytes
    length: int


def framed(record: Record) -> Framed:
    """Return a record as it is written."""
    from crc32c import crc32c

    start = before_image(record)
    length = len(start) + len(record.image)
    crc = crc32c(record.image, crc32c(start), gil_release_mode=_KEEP_GIL)
    return Framed(record, framing.head(length) + start, framing.tail(crc), length)


class ShardWriter:
    """A shard while it is written.

    Use it as a context: what is not placed is removed.
    """

    def __init__(self, layout: Layout, files: ShardFiles) -> None:
        self._layout = layout
        self._files = files
        self._records = FileBehind(layout.aside(files.name, "tfrecord"))
        self._index = _Aside(layout.aside(files.name, "jsonl"))
        self._labels: Counter[int] = Counter()
        self._rejected: list[dict[str, Any]] = []

    @property
    def bytes(self) -> int:
        """The size of the shard so far."""
        return self._records.size

    @property
    def count(self) -> int:
        """The records so far."""
        return self._labels.total()

    @property
    def images(self) -> int:
        """The images so far, with those that were left out."""
        return self.count + len(self._rejected)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._records.remove()
        self._index.remove()

    def add(self, framed: Framed) -> None:
        """Append a record."""
        record = framed.record
        offset = self._records.size
        self._records.write(framed.head, record.image, framed.tail)
        entry = {
            "path": record.path,
            "label": record.label,
            "sha256": record.sha256.hex(),
            "offset": offset,
            "length": framed.length,
        }
        self._index.write(json_lines.line(entry).encode("ascii"))
        self._labels[record.label] += 1

    def reject(self, rejection: Rejection) -> None:
        """Note an image that is left out."""
        values = {"path": rejection.name, "reason": rejection.reason, "detail": rejection.detail}
        self._rejected.append(values | {"position": self.images})

    def place(self) -> Note:
        """Put the shard and its list in their places: a shard that is there has its list."""
        self._index.close()
        self._records.close()
        note = Note(
            count=self.count,
            bytes=self._records.size,
            crc32c=self._records.crc32c,
            index_bytes=self._index.size,
            index_crc32c=self._index.crc32c,
            labels={str(label): count for label, count in sorted(self._labels.items())},
            rejected=self._rejected,
        )
        self._index.file.replace(self._files.index)
        self._records.file.replace(self._files.records)
        aside = self._layout.aside(self._files.name, "json")
        json_lines.write(self._files.note, aside, asdict(note))
        # On its way to the disk while the next shard is made; the end of the pack waits for all.
        threading.Thread(target=_to_disk, args=(self._files.records,), daemon=True).start()
        return note


class _Aside:
    """A file that is being written, with its size and checksum."""

    def __init__(self, file: Path) -> None:
        from crc32c import crc32c

        self.file = file
        self.size = 0
        self.crc32c = 0
        self._crc32c = crc32c
        # Closed by `close` or `remove`: the shard that holds it is the context.
        self._opened: BinaryIO = file.open("wb", buffering=_BUFFER_BYTES)

    def write(self, *parts: bytes) -> None:
        for part in parts:
            self._opened.write(part)
            self.crc32c = self._crc32c(part, self.crc32c, gil_release_mode=_KEEP_GIL)
            self.size += len(part)

    def close(self) -> None:
        self._opened.close()

    def remove(self) -> None:
        """Remove the file if it is still there; its disk may be full, or it may have been moved."""
        try:
            self._opened.close()
        except OSError:
            # What could not be written is not wanted any more; the first error is the one to tell.
            self._opened.raw.close()  # type: ignore[attr-defined]
        self.file.unlink(missing_ok=True)


def _to_disk(file: Path) -> None:
    try:
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    except OSError:
        return  # told by whoever waits for it


def note_of_whole(files: ShardFiles) -> Note | None:
    """Return the note of a shard if the shard is in place as the note says; else None."""
    try:
        note = Note(**json_lines.read(files.note))
        is_whole = _is(files.records, note.bytes, note.crc32c) and _is(
            files.index, note.index_bytes, note.index_crc32c
        )
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return note if is_whole else None


def _is(file: Path, size: int, crc32c: int) -> bool:
    if file.stat().st_size != size:
        return False
    with file.open("rb") as stream:
        return framing.file_crc32c(stream) == crc32c
