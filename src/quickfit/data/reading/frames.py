"""Reads TFRecord files in Python: the first records, how many there are, and what is damaged."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import BinaryIO, cast

from quickfit.data.entries import Reason
from quickfit.data.packing.framing import HEAD_BYTES, TAIL_BYTES, masked
from quickfit.data.reading.files import is_remote
from quickfit.errors import PipelineError

COMPRESSIONS = ("", "GZIP", "ZLIB")
_PIECE_BYTES = 1 << 16
_GZIP_START = b"\x1f\x8b"
_ZLIB_DEFLATE = 0x78
# Tells zlib to take what it finds: the head of a gzip file, or its own.
_EITHER = 32 + zlib.MAX_WBITS
# What other files begin with, for the message about a file that is none of ours.
_OTHERS = {
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"PK\x03\x04": "a zip archive",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"\x28\xb5\x2f\xfd": "Zstandard data, which TensorFlow cannot read",
    b"BZh": "bzip2 data, which TensorFlow cannot read",
    b"PAR1": "a Parquet file",
}


class DamagedError(Exception):
    """A file stops being a sequence of whole records; the message says why.

    Args:
        message: what is wrong.
        reason: whether the file is cut off, or wrong inside.
    """

    def __init__(self, message: str, reason: Reason = Reason.TRUNCATED) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Walked:
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


def compression_of(file: str) -> str:
    """Return how a file is compressed, as TensorFlow calls it; empty if it is not.

    Raises:
        PipelineError: it is no TFRecord file.
    """
    start = _start(file)
    if not start or _is_head(start):
        return ""
    if start.startswith(_GZIP_START):
        return "GZIP"
    if start[0] == _ZLIB_DEFLATE and int.from_bytes(start[:2]) % 31 == 0:
        return "ZLIB"
    found = next((name for magic, name in _OTHERS.items() if start.startswith(magic)), None)
    if found is None:
        found = "text" if start.isascii() and start.decode().isprintable() else "other data"
    raise PipelineError(
        f"{file}: is no TFRecord file, or its first bytes are damaged (found: {found}, "
        f"{start!r}).\nGive only the record files, for example records('folder/*.tfrecord')."
    )


def _start(file: str) -> bytes:
    try:
        with _raw(file) as stream:
            return stream.read(HEAD_BYTES)
    except OSError as error:
        raise PipelineError(f"{file}: cannot be read: {error.strerror or error}.") from error


def _is_head(start: bytes) -> bool:
    from crc32c import crc32c

    if len(start) < HEAD_BYTES:
        # Shorter than the shortest record; it is told where records are counted.
        return True
    return bool(struct.unpack_from("<I", start, 8)[0] == masked(crc32c(start[:8])))


def _raw(file: str) -> BinaryIO:
    if is_remote(file):
        import tensorflow as tf

        return cast(BinaryIO, io.BytesIO(tf.io.gfile.GFile(file, "rb").read(1 << 22)))
    return open(file, "rb")


def opened(file: str, compression: str) -> BinaryIO:
    """Return the records of a file as one stream, uncompressed. Of a remote one only its start."""
    raw = _raw(file)
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


def outcomes(file: str, compression: str) -> Generator[bytes | str, None, None]:
    """Yield the records of a file; for a damaged one, what is wrong with it.

    It ends where the damage hides the beginning of the next record.
    """
    from crc32c import crc32c

    try:
        with opened(file, compression) as stream:
            while (length := _next_length(stream)) is not None:
                content = _exactly(stream, length)
                crc = struct.unpack("<I", _exactly(stream, TAIL_BYTES))[0]
                is_whole = crc == masked(crc32c(content))
                yield content if is_whole else "its bytes differ from its checksum"
    except DamagedError as damage:
        yield str(damage)


def walked(file: str, compression: str, most: int) -> Walked | None:
    """Return how many records a file has, without their checksums; None if more than `most`."""
    count = end_bytes = 0
    try:
        with opened(file, compression) as stream:
            size = None if compression else os.fstat(stream.fileno()).st_size
            while (length := _next_length(stream)) is not None:
                _skip(stream, length + TAIL_BYTES, size)
                count += 1
                end_bytes += HEAD_BYTES + length + TAIL_BYTES
                if count > most:
                    return None
    except DamagedError as damage:
        return Walked(count, str(damage), damage.reason, end_bytes)
    return Walked(count, "", end_bytes=end_bytes)


def _next_length(stream: BinaryIO) -> int | None:
    from crc32c import crc32c

    head = _some(stream, HEAD_BYTES)
    if not head:
        return None
    if len(head) < HEAD_BYTES:
        raise DamagedError("the file ends inside it")
    length, crc = struct.unpack("<QI", head)
    if crc != masked(crc32c(head[:8])):
        raise DamagedError("the checksum of its length differs", Reason.CORRUPT)
    return int(length)


def _skip(stream: BinaryIO, count: int, size: int | None) -> None:
    if size is None:
        while count:
            piece = _some(stream, min(count, _PIECE_BYTES))
            if not piece:
                raise DamagedError("the file ends inside it")
            count -= len(piece)
    elif stream.seek(count, os.SEEK_CUR) > size:
        raise DamagedError("the file ends inside it")


def _exactly(stream: BinaryIO, count: int) -> bytes:
    # In pieces: a length that lies must not ask for all memory at once.
    pieces = []
    while count:
        piece = _some(stream, min(count, 1 << 24))
        if not piece:
            raise DamagedError("the file ends inside it")
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def _some(stream: BinaryIO, count: int) -> bytes:
    try:
        return stream.read(count)
    except (EOFError, OSError, zlib.error) as error:
        is_cut = isinstance(error, EOFError)
        reason = Reason.TRUNCATED if is_cut else Reason.CORRUPT
        raise DamagedError(f"it cannot be read: {error}", reason) from None
