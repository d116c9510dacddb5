"""Frames of a TFRecord file: length and content of each record, each with its checksum.

One record is: its length (8 bytes, little endian), the masked crc32c of these 8 bytes, the
content, the masked crc32c of the content.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

HEAD_BYTES = 12
TAIL_BYTES = 4
_MASK_DELTA = 0xA282EAD8
_READ_BYTES = 1 << 20


class BrokenFrameError(Exception):
    """A file is no sequence of whole records; says where it stops being one."""


class Frame(NamedTuple):
    """One record of a file."""

    offset: int
    content: bytes


def masked(crc: int) -> int:
    """Return a crc32c as TFRecord stores it: turned, so that data with checksums in it is safe."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def head(length: int) -> bytes:
    """Return what stands before a content of this length."""
    from crc32c import crc32c

    size = struct.pack("<Q", length)
    return size + struct.pack("<I", masked(crc32c(size)))


def tail(crc: int) -> bytes:
    """Return what stands behind a content with this crc32c."""
    return struct.pack("<I", masked(crc))


def frames(stream: BinaryIO, size: int) -> Iterator[Frame]:
    """Yield the records of a file of `size` bytes, each with its checksums compared.

    Raises:
        BrokenFrameError: a checksum differs, or the file ends inside a record.
    """
    offset = 0
    while offset < size:
        content = _content(stream, size - offset)
        yield Frame(offset, content)
        offset += HEAD_BYTES + len(content) + TAIL_BYTES


def _content(stream: BinaryIO, rest: int) -> bytes:
    from crc32c import crc32c

    start = stream.read(HEAD_BYTES)
    if len(start) < HEAD_BYTES:
        raise BrokenFrameError(f"the file ends {len(start)} bytes into its head")
    length, crc = struct.unpack("<QI", start)
    if crc != masked(crc32c(start[:8])):
        raise BrokenFrameError("the checksum of its length differs")
    if length > rest - HEAD_BYTES - TAIL_BYTES:
        # Never asked for: a length that lies must not fill the memory.
        raise BrokenFrameError(f"it should have {length:,} bytes, and the file ends before")
    content = stream.read(length)
    end = stream.read(TAIL_BYTES)
    if len(content) < length or len(end) < TAIL_BYTES:
        raise BrokenFrameError("the file ends inside it")
    if struct.unpack("<I", end)[0] != masked(crc32c(content)):
        raise BrokenFrameError("the checksum of its content differs")
    return content


def file_crc32c(stream: BinaryIO) -> int:
    """Return the crc32c of the rest of a file."""
    from crc32c import crc32c

    crc = 0
    while piece := stream.read(_READ_BYTES):
        crc = crc32c(piece, crc)
    return int(crc)
