"""Lists zip archives from their table of contents, or without it what is whole.

The `zipfile` module is not used: it refuses a whole archive for one name that is no UTF-8 or for
a missing end, and needs the table of contents in every process that reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.sources.listing import MAX_FILE_BYTES, UNKNOWN_LOSS
from quickfit.data.sources.members import Member
from quickfit.data.sources.readers import Archive
from quickfit.data.sources.zip_format import (
    CENTRAL_SIGNATURE,
    DEFLATED,
    LOCAL_SIGNATURE,
    Header,
    central_header,
)
from quickfit.data.sources.zip_reader import content_of, header_at
from quickfit.errors import PipelineError

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
# The end record is followed by a comment of at most this many bytes.
_MAX_COMMENT_BYTES = 65_535
# What may follow a streamed content: nothing, or its sizes in 32 or 64 bits, with a signature
# or without.
_CHECKSUM_BYTES = 8
_DESCRIPTOR_BYTES = (0, 12, 16, 20, 24)


def zip_members(path: str, label: str) -> Iterator[Member]:
    """Yield the members of a zip archive; of one that ends early, those that are whole.

    Args:
        path: of the archive.
        label: what reports call it.

    Raises:
        PipelineError: it cannot be read.
    """
    archive = Archive()
    try:
        table = _table_of_contents(archive, path)
        if table is None:
            yield from _salvaged(archive, path, label)
        else:
            yield from _listed(*table, label)
    except SourceImageError as error:
        raise PipelineError(f"{path}: this archive cannot be read: {error.detail}.") from None


def _table_of_contents(archive: Archive, path: str) -> tuple[bytes, int] | None:
    """Return the table, and what to add to the offsets in it; None if it is not there."""
    size = archive.size(path)
    tail_at = max(0, size - _END.size - _MAX_COMMENT_BYTES - _END64_LOCATOR.size)
    tail = archive.piece(path, tail_at, size - tail_at)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        return None
    _, disk, _, _, _, length, begin, _ = _END.unpack_from(tail, at)
    end = tail_at + at
    locator = tail[max(0, at - _END64_LOCATOR.size) : at]
    if locator.startswith(b"PK\x06\x07"):
        end -= _END64_LOCATOR.size + _END64.size
        record = archive.piece(path, end, _END64.size)
        if not record.startswith(b"PK\x06\x06"):
            return None
        length, begin = _END64.unpack(record)[-2:]
    elif disk not in (0, 0xFFFF):
        raise SourceImageError(Reason.UNREADABLE, "it is one of several parts: join them first")
    # Something may come before the archive (a program that unpacks it): offsets do not count it.
    shift = end - length - begin
    return (archive.piece(path, end - length, length), shift) if shift >= 0 else None


def _listed(table: bytes, shift: int, label: str) -> Iterator[Member]:
    at = 0
    while at < len(table):
        header = central_header(table, at)
        if header is None:
            detail = f"its table of contents is damaged: {UNKNOWN_LOSS}. Get a whole copy of it"
            yield Member(label, 0, 0, Reason.CORRUPT, detail)
            return
        if not header.name.endswith("/"):
            yield _member(header, header.offset + shift)
        at += header.length


def _salvaged(archive: Archive, path: str, label: str) -> Iterator[Member]:
    """Yield what is whole in an archive whose table of contents, at its end, is missing."""
    if not archive.piece(path, 0, 4).startswith(LOCAL_SIGNATURE):
        raise SourceImageError(Reason.CORRUPT, "it is no archive")
    at = whole = 0
    while (header := header_at(archive, path, at)) is not None:
        try:
            size, end = _extent(archive, path, header)
        except SourceImageError:
            break
        if not header.name.endswith("/"):
            yield _member(replace(header, size=size), at)
            whole += 1
        at = _next_header(archive, path, end)
    if not archive.piece(path, at, 4).startswith(CENTRAL_SIGNATURE):
        after = f"after {whole:,} whole files, at byte {at:,}"
        detail = f"the archive ends early, {after}: {UNKNOWN_LOSS}"
        yield Member(label, 0, 0, Reason.TRUNCATED, f"{detail}. Get a whole copy of it")


def _extent(archive: Archive, path: str, header: Header) -> tuple[int, int]:
    """Return the size of a member and where it ends in the archive."""
    start = header.offset + header.length
    if header.name.endswith("/"):
        return 0, start
    if header.is_streamed and not header.packed:
        if header.method != DEFLATED:
            raise SourceImageError(Reason.TRUNCATED, "nothing says where it ends")
        content, end = content_of(archive, path, header, MAX_FILE_BYTES)
        if end + _CHECKSUM_BYTES > archive.size(path):
            raise SourceImageError(Reason.TRUNCATED, "its checksum is not there")
        return len(content), end
    if start + header.packed > archive.size(path):
        raise SourceImageError(Reason.TRUNCATED, "it is not whole")
    return header.size, start + header.packed


def _next_header(archive: Archive, path: str, end: int) -> int:
    following = archive.piece(path, end, max(_DESCRIPTOR_BYTES) + 4)
    for skip in _DESCRIPTOR_BYTES:
        if following.startswith((LOCAL_SIGNATURE, CENTRAL_SIGNATURE), skip):
            return end + skip
    return end


def _member(header: Header, offset: int) -> Member:
    fault, detail = header.fault()
    return Member(header.name, header.size, offset, fault, detail)
