"""Reads one member of a zip archive from its offset alone, and checks it."""

from __future__ import annotations

import struct
import zlib

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.listing import MAX_FILE_BYTES
from quickfit.data.sources.readers import Archive
from quickfit.data.sources.zip_format import (
    DEFLATED,
    LOCAL_BYTES,
    Header,
    local_header,
)

# Names and extra fields are at most 64 kB each; most headers are whole in the first read.
_FIRST_READ_BYTES = 1024
_STEP_BYTES = 1 << 16


class ZipReader:
    """Reads members of zip archives; every process opens the archive for itself."""

    def __init__(self) -> None:
        self._archive = Archive()

    def read(self, entry: Entry) -> bytes:
        """Return the content of a member, with its checksum found right.

        Raises:
            SourceImageError: it cannot be read, or is not what the archive says.
        """
        header = header_at(self._archive, entry.file, entry.offset)
        if header is None:
            detail = "the archive has no file at this place: it is damaged or has changed"
            raise SourceImageError(Reason.CORRUPT, detail)
        content, end = content_of(self._archive, entry.file, header, entry.size)
        if len(content) != entry.size:
            raise _corrupt(f"it has {len(content):,} bytes, the archive says {entry.size:,}")
        if zlib.crc32(content) != self._crc(entry.file, header, end):
            raise _corrupt("its checksum is not the one in the archive")
        return content

    def _crc(self, file: str, header: Header, end: int) -> int:
        if not header.is_streamed or header.crc:
            return header.crc
        descriptor = self._archive.piece(file, end, 8)
        if len(descriptor) < 8:
            raise SourceImageError(Reason.TRUNCATED, "the archive ends before its checksum")
        # The signature in front of a descriptor may be left out.
        at = 4 if descriptor.startswith(b"PK\x07\x08") else 0
        return int(struct.unpack_from("<L", descriptor, at)[0])


def header_at(archive: Archive, file: str, offset: int) -> Header | None:
    """Return the header of the member at an offset; None if there is none."""
    content = archive.piece(file, offset, _FIRST_READ_BYTES)
    if len(content) >= LOCAL_BYTES:
        length = LOCAL_BYTES + sum(struct.unpack_from("<2H", content, 26))
        if length > len(content):
            content = archive.piece(file, offset, length)
    return local_header(content, offset)


def content_of(archive: Archive, file: str, header: Header, size: int) -> tuple[bytes, int]:
    """Return a member's content, at most `size` bytes, and where it ends in the archive.

    Raises:
        SourceImageError: the archive ends before, or the content is larger or damaged.
    """
    start = header.offset + header.length
    if header.method == DEFLATED:
        return _inflated(archive, file, header, size)
    content = archive.piece(file, start, size)
    if len(content) < size:
        raise _truncated(start + len(content))
    return content, start + size


def _inflated(archive: Archive, file: str, header: Header, size: int) -> tuple[bytes, int]:
    """Inflate step by step: the compressed size may be unknown, or a lie."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    step = header.packed if 0 < header.packed <= size + _STEP_BYTES else _STEP_BYTES
    at = header.offset + header.length
    pieces = []
    room = min(size, MAX_FILE_BYTES) + 1
    while not inflater.eof:
        packed = archive.piece(file, at, step)
        if not packed:
            raise _truncated(at)
        at += len(packed)
        try:
            piece = inflater.decompress(packed, room)
        except zlib.error as error:
            raise _corrupt(f"its compressed content is damaged ({error})") from None
        room -= len(piece)
        if room <= 0:
            raise _corrupt(f"it is larger than the {size:,} bytes that the archive says")
        pieces.append(piece)
    return b"".join(pieces), at - len(inflater.unused_data)


def _corrupt(detail: str) -> SourceImageError:
    return SourceImageError(Reason.CORRUPT, detail)


def _truncated(at: int) -> SourceImageError:
    return SourceImageError(Reason.TRUNCATED, f"the archive ends in it, after {at:,} bytes")
