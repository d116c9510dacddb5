"""TFRecord files and `tf.train.Example` messages of images, read and written without TensorFlow."""

from __future__ import annotations

import io
import os
import re
import struct
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from quickfit.data.entries import Reason
from quickfit.errors import PipelineError

HEAD_BYTES = 12
TAIL_BYTES = 4
_MASK_DELTA = 0xA282EAD8
_READ_BYTES = 1 << 20
COMPRESSIONS = ("", "GZIP", "ZLIB")
_PIECE_BYTES = 1 << 16
_GZIP_START = b"\x1f\x8b"
_ZLIB_DEFLATE = 0x78
# Tells zlib to take what it finds: the head of a gzip file, or its own.
_EITHER = 32 + zlib.MAX_WBITS
# What other files begin with, for the message about a file that is none of ours.
_OTHER_FORMATS = {
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"PK\x03\x04": "a zip archive",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"\x28\xb5\x2f\xfd": "Zstandard data, which TensorFlow cannot read",
    b"BZh": "bzip2 data, which TensorFlow cannot read",
    b"PAR1": "a Parquet file",
}
# The fields of a record and their kinds, as TensorFlow's feature specs call them.
FEATURES = {
    "image": "bytes",
    "format": "bytes",
    "height": "int64",
    "width": "int64",
    "channels": "int64",
    "label": "int64",
    "path": "bytes",
    "sha256": "bytes",
}
# A message of protobuf has at most 2 GB; the fields beside the image need far less than this.
MAX_IMAGE_BYTES = 2**31 - 2**20
_BYTES_LIST, _INT64_LIST = 1, 3
# The only wire type in these messages: a length, and as many bytes.
_SIZED = 2


class BrokenFrameError(Exception):
    """A file is no sequence of whole records; says where it stops being one."""


class RecordFrame(NamedTuple):
    """One record of a file."""

    offset: int
    content: bytes


def mask_crc(crc: int) -> int:
    """Return a crc32c as TFRecord stores it: turned, so that data with checksums in it is safe."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def frame_head(length: int) -> bytes:
    """Return what stands before a content of this length."""
    from crc32c import crc32c

    size = struct.pack("<Q", length)
    return size + struct.pack("<I", mask_crc(crc32c(size)))


def frame_tail(crc: int) -> bytes:
    """Return what stands behind a content with this crc32c."""
    return struct.pack("<I", mask_crc(crc))


def read_frames(stream: BinaryIO, size: int) -> Iterator[RecordFrame]:
    """Yield the records of a file of `size` bytes, each with its checksums compared.

    Raises:
        BrokenFrameError: a checksum differs, or the file ends inside a record.
    """
    offset = 0
    while offset < size:
        content = _read_content(stream, size - offset)
        yield RecordFrame(offset, content)
        offset += HEAD_BYTES + len(content) + TAIL_BYTES


def _read_content(stream: BinaryIO, rest: int) -> bytes:
    from crc32c import crc32c

    start = stream.read(HEAD_BYTES)
    if len(start) < HEAD_BYTES:
        raise BrokenFrameError(f"the file ends {len(start)} bytes into its head")
    length, crc = struct.unpack("<QI", start)
    if crc != mask_crc(crc32c(start[:8])):
        raise BrokenFrameError("the checksum of its length differs")
    if length > rest - HEAD_BYTES - TAIL_BYTES:
        # Never asked for: a length that lies must not fill the memory.
        raise BrokenFrameError(f"it should have {length:,} bytes, and the file ends before")
    content = stream.read(length)
    end = stream.read(TAIL_BYTES)
    if len(content) < length or len(end) < TAIL_BYTES:
        raise BrokenFrameError("the file ends inside it")
    if struct.unpack("<I", end)[0] != mask_crc(crc32c(content)):
        raise BrokenFrameError("the checksum of its content differs")
    return content


def file_crc32c(file: Path) -> int:
    """Return the crc32c of a file."""
    from crc32c import crc32c

    crc = 0
    with file.open("rb") as stream:
        while piece := stream.read(_READ_BYTES):
            crc = crc32c(piece, crc)
    return int(crc)


class DamagedRecordError(Exception):
    """A file stops being a sequence of whole records; the message says why.

    Args:
        message: what is wrong.
        reason: whether the file is cut off, or wrong inside.
    """

    def __init__(self, message: str, reason: Reason = Reason.TRUNCATED) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class RecordCount:
    """How far a file is a sequence of records.

    Args:
        count: the records before its end, or before what is damaged.
        damage: what is wrong there; empty if nothing is.
        reason: the same in one word.
        end_bytes: where the last of these records ends, in the uncompressed file.
    """

    count: int
    damage: str
    reason: Reason = Reason.TRUNCATED
    end_bytes: int = 0


def is_remote(where: object) -> bool:
    """Return whether TensorFlow has to open it: `gs://…`, `hdfs://…`."""
    return isinstance(where, str) and "://" in where


def compression_of(file: str) -> str:
    """Return how a file is compressed, as TensorFlow calls it; empty if it is not.

    Raises:
        PipelineError: it is no TFRecord file.
    """
    start = _read_start(file)
    if not start or _is_head(start):
        return ""
    if start.startswith(_GZIP_START):
        return "GZIP"
    if start[0] == _ZLIB_DEFLATE and int.from_bytes(start[:2]) % 31 == 0:
        return "ZLIB"
    found = next((name for magic, name in _OTHER_FORMATS.items() if start.startswith(magic)), None)
    if found is None:
        found = "text" if start.isascii() and start.decode().isprintable() else "other data"
    raise PipelineError(
        f"{file}: is no TFRecord file, or its first bytes are damaged (found: {found}, "
        f"{start!r}).\nGive only the record files, for example records('folder/*.tfrecord')."
    )


def _read_start(file: str) -> bytes:
    try:
        with _open_raw(file) as stream:
            return stream.read(HEAD_BYTES)
    except OSError as error:
        raise PipelineError(f"{file}: cannot be read: {error.strerror or error}.") from error


def _is_head(start: bytes) -> bool:
    from crc32c import crc32c

    if len(start) < HEAD_BYTES:
        # Shorter than the shortest record; it is told where records are counted.
        return True
    return bool(struct.unpack_from("<I", start, 8)[0] == mask_crc(crc32c(start[:8])))


def _open_raw(file: str) -> BinaryIO:
    if is_remote(file):
        import tensorflow as tf

        return cast(BinaryIO, io.BytesIO(tf.io.gfile.GFile(file, "rb").read(1 << 22)))
    return open(file, "rb")


def open_records(file: str, compression: str) -> BinaryIO:
    """Return the records of a file as one stream, uncompressed. Of a remote one only its start."""
    raw = _open_raw(file)
    if compression:
        return cast(BinaryIO, io.BufferedReader(_Inflated(raw), _PIECE_BYTES))
    return raw


class _Inflated(io.RawIOBase):
    """The content of a gzip or zlib file."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._inflate = zlib.decompressobj(_EITHER)

    def readable(self) -> bool:
        return True

    def readinto(self, out: memoryview) -> int:  # type: ignore[override]
        content = b""
        while not content:
            piece = self._inflate.unconsumed_tail or self._inflate.unused_data
            piece = piece or self._raw.read(_PIECE_BYTES)
            if self._inflate.eof:
                if not piece:
                    return 0
                # Files that were appended to each other are one file to TensorFlow too.
                self._inflate = zlib.decompressobj(_EITHER)
            if not piece:
                raise EOFError("the compressed data ends early")
            content = self._inflate.decompress(piece, len(out))
        out[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._raw.close()
        super().close()


def read_records(file: str, compression: str) -> Generator[bytes | str, None, None]:
    """Yield the records of a file; for a damaged one, what is wrong with it.

    It ends where the damage hides the beginning of the next record.
    """
    from crc32c import crc32c

    try:
        with open_records(file, compression) as stream:
            while (length := _next_length(stream)) is not None:
                content = _read_exactly(stream, length)
                crc = struct.unpack("<I", _read_exactly(stream, TAIL_BYTES))[0]
                is_whole = crc == mask_crc(crc32c(content))
                yield content if is_whole else "its bytes differ from its checksum"
    except DamagedRecordError as damage:
        yield str(damage)


def count_records(file: str, compression: str, most: int) -> RecordCount | None:
    """Return how many records a file has, without their checksums; None if more than `most`."""
    count = end_bytes = 0
    try:
        with open_records(file, compression) as stream:
            size = None if compression else os.fstat(stream.fileno()).st_size
            while (length := _next_length(stream)) is not None:
                _skip_bytes(stream, length + TAIL_BYTES, size)
                count += 1
                end_bytes += HEAD_BYTES + length + TAIL_BYTES
                if count > most:
                    return None
    except DamagedRecordError as damage:
        return RecordCount(count, str(damage), damage.reason, end_bytes)
    return RecordCount(count, "", end_bytes=end_bytes)


def _next_length(stream: BinaryIO) -> int | None:
    from crc32c import crc32c

    head = _read_some(stream, HEAD_BYTES)
    if not head:
        return None
    if len(head) < HEAD_BYTES:
        raise DamagedRecordError("the file ends inside it")
    length, crc = struct.unpack("<QI", head)
    if crc != mask_crc(crc32c(head[:8])):
        raise DamagedRecordError("the checksum of its length differs", Reason.CORRUPT)
    return int(length)


def _skip_bytes(stream: BinaryIO, count: int, size: int | None) -> None:
    if size is None:
        while count:
            piece = _read_some(stream, min(count, _PIECE_BYTES))
            if not piece:
                raise DamagedRecordError("the file ends inside it")
            count -= len(piece)
    elif stream.seek(count, os.SEEK_CUR) > size:
        raise DamagedRecordError("the file ends inside it")


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    # In pieces: a length that lies must not ask for all memory at once.
    pieces = []
    while count:
        piece = _read_some(stream, min(count, 1 << 24))
        if not piece:
            raise DamagedRecordError("the file ends inside it")
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def _read_some(stream: BinaryIO, count: int) -> bytes:
    try:
        return stream.read(count)
    except (EOFError, OSError, zlib.error) as error:
        is_cut = isinstance(error, EOFError)
        reason = Reason.TRUNCATED if is_cut else Reason.CORRUPT
        raise DamagedRecordError(f"it cannot be read: {error}", reason) from None


class BrokenExampleError(Exception):
    """A record is no `tf.train.Example`."""


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One image as a pack holds it.

    Args:
        image: the encoded file, or the pixels.
        format: how: `jpeg`, `png`, … or `raw`.
        height, width, channels: of the image as stored, before any EXIF orientation.
        label: its class, or `NO_LABEL`.
        path: its name in the source; bytes that are no UTF-8 as surrogates.
        sha256: of the source's file.
    """

    image: bytes
    format: str
    height: int
    width: int
    channels: int
    label: int
    path: str
    sha256: bytes


def path_bytes(path: str) -> bytes:
    """Return a name as the source's file system has it."""
    return path.encode("utf-8", "surrogateescape")


def path_text(path: bytes) -> str:
    """Return a name with bytes that are no UTF-8 as surrogates."""
    return path.decode("utf-8", "surrogateescape")


def example_before_image(record: ImageRecord) -> bytes:
    """Return the message without the image's bytes, which follow it and end the message."""
    path = path_bytes(record.path)
    small = b"".join(
        (
            _encode_shape(record.format, record.height, record.width, record.channels),
            _encode_int("label", record.label),
            _encode_before_bytes("path", len(path)),
            path,
            _encode_before_bytes("sha256", len(record.sha256)),
            record.sha256,
        )
    )
    size = len(record.image)
    entry = _entry_start("image", size)
    start = small + entry
    return b"\x0a" + _encode_varint(len(start) + size) + start


def _entry_start(name: str, size: int) -> bytes:
    """Return all of a feature of bytes but the bytes, of which there are `size`."""
    # From the inside out; each names the length of all that follows in it.
    value = b"\x0a" + _encode_varint(size)
    feature = b"\x0a" + _encode_varint(len(value) + size) + value
    named = (
        b"\x0a"
        + _encode_sized(name.encode())
        + b"\x12"
        + _encode_varint(len(feature) + size)
        + feature
    )
    return b"\x0a" + _encode_varint(len(named) + size) + named


@lru_cache(maxsize=4096)  # lengths of paths repeat
def _encode_before_bytes(name: str, size: int) -> bytes:
    return _entry_start(name, size)


def _encode_bytes(name: str, value: bytes) -> bytes:
    return _entry_start(name, len(value)) + value


@lru_cache(maxsize=4096)  # shapes repeat
def _encode_shape(format: str, height: int, width: int, channels: int) -> bytes:
    sides = _encode_int("height", height) + _encode_int("width", width)
    return _encode_bytes("format", format.encode()) + sides + _encode_int("channels", channels)


@lru_cache(maxsize=4096)  # labels repeat
def _encode_int(name: str, value: int) -> bytes:
    # A negative number is written as its 64 bits.
    return _encode_entry(
        name, b"\x1a" + _encode_sized(b"\x0a" + _encode_sized(_encode_varint(value & (2**64 - 1))))
    )


def _encode_entry(name: str, feature: bytes) -> bytes:
    return b"\x0a" + _encode_sized(
        b"\x0a" + _encode_sized(name.encode()) + b"\x12" + _encode_sized(feature)
    )


def _encode_sized(value: bytes) -> bytes:
    return _encode_varint(len(value)) + value


def _encode_varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def parse_example(message: bytes) -> ImageRecord:
    """Return the record of a message.

    Raises:
        BrokenExampleError: it is no `tf.train.Example`, or not one of a pack.
    """
    entries = [
        e for features in _read_fields(memoryview(message), 1) for e in _read_fields(features, 1)
    ]
    values: dict[str, Any] = dict(map(_read_entry, entries))  # bytes or int, seen to below
    kinds = {"bytes": bytes, "int64": int}
    wrong = [n for n, kind in FEATURES.items() if not isinstance(values.get(n), kinds[kind])]
    if wrong or len(values) != len(FEATURES):
        found = ", ".join(sorted(values)) or "none"
        raise BrokenExampleError(f"it has not the fields of a pack (found: {found})")
    return ImageRecord(
        **values
        | {"format": values["format"].decode("ascii", "replace"), "path": path_text(values["path"])}
    )


def _read_entry(entry: memoryview) -> tuple[str, bytes | int | None]:
    names, features = list(_read_fields(entry, 1)), list(_read_fields(entry, 2))
    if len(names) != 1 or len(features) != 1:
        raise BrokenExampleError("a field has no name or no value")
    return _read_name(names[0]), _read_value(features[0])


def _read_name(name: memoryview) -> str:
    text = bytes(name).decode("utf-8", "replace")
    return text if re.fullmatch(r"\w+", text) else repr(text)


def _read_value(feature: memoryview) -> bytes | int | None:
    """Return the one value of a feature; None where there is another number of them."""
    texts = [
        value for found in _read_fields(feature, _BYTES_LIST) for value in _read_fields(found, 1)
    ]
    numbers = [
        value for found in _read_fields(feature, _INT64_LIST) for value in _read_fields(found, 1)
    ]
    if len(texts) + len(numbers) != 1:
        return None
    if texts:
        return bytes(texts[0])
    value, end = _read_varint(numbers[0], 0)
    whole = value - 2**64 if value >= 2**63 else value
    return whole if end == len(numbers[0]) else None


def _read_fields(message: memoryview, wanted: int) -> list[memoryview]:
    """Return the values of one field of a message; only fields that have a length."""
    found = []
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        if key & 7 != _SIZED:
            raise BrokenExampleError(f"a field of wire type {key & 7} stands where none may")
        length, position = _read_varint(message, position)
        if length > len(message) - position:
            raise BrokenExampleError("a field is longer than its message")
        if key >> 3 == wanted:
            found.append(message[position : position + length])
        position += length
    return found


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message) and shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
        shift += 7
    raise BrokenExampleError("a number does not end")
