"""One shard: images in the form of the pack, written aside and moved in place when whole."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from quickfit.data.entries import Reason, Rejection, SourceImageError
from quickfit.data.packing.manifest import json_line, read_json, write_json
from quickfit.data.tfrecord import (
    MAX_IMAGE_BYTES,
    ImageRecord,
    example_before_image,
    file_crc32c,
    frame_head,
    frame_tail,
)

if TYPE_CHECKING:
    import numpy as np

    from quickfit.data.packing.manifest import PackLayout, ShardFiles
    from quickfit.data.packing.plan import PackSettings

# One handing over costs as much as making a small record: several at a time.
_HANDED_BYTES = 1_000_000
_HANDED_PARTS = 96
# However slow the disk is, not more than these wait to be written.
_MOST_WAITING = 4
_BUFFER_BYTES = 1 << 20
# A checksum of 100 kB takes 10 us: less than giving the lock up and getting it back.
_KEEP_GIL = 0


class BackgroundFile:
    """A file that is being written, with its size and checksum.

    What cannot be written is raised by a later `write`, or by `close`.
    """

    def __init__(self, file: Path) -> None:
        from crc32c import crc32c

        self.file = file
        self.size = 0
        self.crc32c = 0
        self._crc32c = crc32c
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._waiting: deque[Future[None]] = deque()
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        self._thread = ThreadPoolExecutor(1)

    def write(self, *parts: bytes) -> None:
        """Append the parts."""
        for part in parts:
            self.size += len(part)
            self._parts_bytes += len(part)
        self._parts.extend(parts)
        if self._parts_bytes >= _HANDED_BYTES or len(self._parts) >= _HANDED_PARTS:
            self._hand_over()

    def close(self) -> None:
        """Write the rest, and close the file."""
        self._hand_over()
        while self._waiting:
            self._waiting.popleft().result()
        self._end()

    def remove(self) -> None:
        """Remove the file, if it has not been moved to its place."""
        self._end()
        self.file.unlink(missing_ok=True)

    def _hand_over(self) -> None:
        while len(self._waiting) >= _MOST_WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(self._put, self._parts))
        self._parts, self._parts_bytes = [], 0

    def _put(self, parts: list[bytes]) -> None:
        for part in parts:
            self.crc32c = self._crc32c(part, self.crc32c)
        missing = sum(map(len, parts)) - os.writev(self._descriptor, parts)
        if missing:  # a full disk takes what fits; the next write says why it takes no more
            rest = memoryview(b"".join(parts))[-missing:]
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def _end(self) -> None:
        self._thread.shutdown(cancel_futures=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class StoredImage(NamedTuple):
    """An image as a record holds it."""

    image: bytes
    format: str
    height: int
    width: int
    channels: int


def image_record(
    content: bytes, path: str, label: int, settings: PackSettings, *, sha256: bytes | None = None
) -> ImageRecord:
    """Return the record of an image's file; its SHA-256 where somebody has it already.

    Raises:
        SourceImageError: it cannot be used.
    """
    stored = _encode_guarded(content, settings)
    digest = sha256 or hashlib.sha256(content).digest()
    return ImageRecord(*stored, label=label, path=path, sha256=digest)


def _encode_guarded(content: bytes, settings: PackSettings) -> StoredImage:
    try:
        return _encode_image(content, settings)
    except (SourceImageError, MemoryError):
        raise
    except Exception as error:  # an image that breaks a decoder must not stop the pack
        detail = f"breaks the decoder: {type(error).__name__}: {error}"
        raise SourceImageError(Reason.CORRUPT, detail) from error


def _encode_image(content: bytes, settings: PackSettings) -> StoredImage:
    # Inside functions: a pack that only starts workers decodes nothing, and loads no NumPy.
    from quickfit.data import pixels

    if len(content) > MAX_IMAGE_BYTES:
        raise SourceImageError(Reason.TOO_LARGE, too_large_error(len(content)))
    header = pixels.read_header(content, max_pixels=settings.max_pixels)
    if settings.form == "original":
        if settings.check == "full":
            pixels.decode(content, header=header)
        return StoredImage(content, header.format, header.height, header.width, header.channels)
    return encode_pixels(pixels.decode(content, header=header), settings)


def encode_pixels(image: np.ndarray, settings: PackSettings) -> StoredImage:
    """Return RGB pixels in the form of the pack: jpeg256 or raw."""
    from quickfit.data import pixels

    height, width = settings.size or image.shape[:2]
    if settings.form == "raw":
        return StoredImage(pixels.resize(image, height, width).tobytes(), "raw", height, width, 3)
    small = pixels.shrink(image, height)
    content = pixels.encode_jpeg(small, quality=settings.quality or 0)
    return StoredImage(content, "jpeg", small.shape[0], small.shape[1], 3)


def too_large_error(size: int) -> str:
    """Say why a file of this size is left out."""
    return f"has {size:,} bytes, and a record holds at most {MAX_IMAGE_BYTES:,}"


@dataclass(frozen=True, slots=True)
class ShardNote:
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


class FramedRecord(NamedTuple):
    """A record with what stands around its image in the file."""

    record: ImageRecord
    head: bytes
    tail: bytes
    length: int


def frame_record(record: ImageRecord) -> FramedRecord:
    """Return a record as it is written."""
    from crc32c import crc32c

    start = example_before_image(record)
    length = len(start) + len(record.image)
    crc = crc32c(record.image, crc32c(start), gil_release_mode=_KEEP_GIL)
    return FramedRecord(record, frame_head(length) + start, frame_tail(crc), length)


class ShardWriter:
    """A shard while it is written.

    Use it as a context: what is not placed is removed.
    """

    def __init__(self, layout: PackLayout, files: ShardFiles) -> None:
        self._layout = layout
        self._files = files
        self._records = BackgroundFile(layout.aside(files.name, "tfrecord"))
        self._index = _PartialFile(layout.aside(files.name, "jsonl"))
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

    def add(self, framed: FramedRecord) -> None:
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
        self._index.write(json_line(entry).encode("ascii"))
        self._labels[record.label] += 1

    def reject(self, rejection: Rejection) -> None:
        """Note an image that is left out."""
        values = {"path": rejection.name, "reason": rejection.reason, "detail": rejection.detail}
        self._rejected.append(values | {"position": self.images})

    def place(self) -> ShardNote:
        """Put the shard and its list in their places: a shard that is there has its list."""
        self._index.close()
        self._records.close()
        note = ShardNote(
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
        write_json(self._files.note, aside, asdict(note))
        # On its way to the disk while the next shard is made; the end of the pack waits for all.
        threading.Thread(target=_sync_to_disk, args=(self._files.records,), daemon=True).start()
        return note


class _PartialFile:
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


def _sync_to_disk(file: Path) -> None:
    try:
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    except OSError:
        return  # told by whoever waits for it


def read_shard_note(files: ShardFiles) -> ShardNote | None:
    """Return the note of a shard if the shard is in place as the note says; else None."""
    try:
        note = ShardNote(**read_json(files.note))
        is_whole = _has_checksum(files.records, note.bytes, note.crc32c) and _has_checksum(
            files.index, note.index_bytes, note.index_crc32c
        )
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return note if is_whole else None


def _has_checksum(file: Path, size: int, crc32c: int) -> bool:
    return file.stat().st_size == size and file_crc32c(file) == crc32c
