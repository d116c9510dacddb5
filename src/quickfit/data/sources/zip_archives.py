"""Zip archives: listed from their table of contents, members read and checked at their offsets."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.files import Archive
from quickfit.data.sources.listing import MAX_FILE_BYTES, UNKNOWN_LOSS, ArchiveMember
from quickfit.errors import PipelineError

STORED, DEFLATED = 0, 8
LOCAL_SIGNATURE = b"PK\x03\x04"
CENTRAL_SIGNATURE = b"PK\x01\x02"

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
LOCAL_BYTES = _LOCAL.size

_ENCRYPTED, _DESCRIPTOR, _UTF8 = 0x1, 0x8, 0x800
_METHODS = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "XZ"}
_LINK_MODE, _MODE_MASK = 0o120000, 0o170000
_IN_EXTRA_FIELD = 0xFFFFFFFF
# Names and extra fields are at most 64 kB each; most headers are whole in the first read.
_FIRST_READ_BYTES = 1024
_STEP_BYTES = 1 << 16
_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
# The end record is followed by a comment of at most this many bytes.
_MAX_COMMENT_BYTES = 65_535
# What may follow a streamed content: nothing, or its sizes in 32 or 64 bits, with a signature
# or without.
_CHECKSUM_BYTES = 8
_DESCRIPTOR_BYTES = (0, 12, 16, 20, 24)


@dataclass(frozen=True, slots=True)
class ZipHeader:
    """What the archive says of one member.

    Args:
        name: its path; bytes that are no UTF-8 are surrogates in it.
        method: of its compression.
        flags: of the format.
        crc: of its content.
        packed: its compressed size in bytes.
        size: its size in bytes.
        offset: of its own header in the archive.
        length: of this header in bytes.
        mode: its Unix file mode, 0 if unknown.
    """

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    offset: int
    length: int
    mode: int = 0

    @property
    def is_streamed(self) -> bool:
        """Whether sizes and checksum come after the content: unknown when it was begun."""
        return bool(self.flags & _DESCRIPTOR)

    def fault(self) -> tuple[Reason | None, str]:
        """Return why the member cannot be used, if that is so."""
        if self.mode & _MODE_MASK == _LINK_MODE:
            return Reason.UNSAFE_PATH, "it is a link, not a file"
        if self.flags & _ENCRYPTED:
            return Reason.UNREADABLE, "it is encrypted: unpack the archive with its password first"
        if self.method not in (STORED, DEFLATED):
            how = _METHODS.get(self.method, f"method {self.method}")
            return Reason.UNREADABLE, f"it is compressed with {how}: unpack the archive first"
        return None, ""


def local_header(content: bytes, offset: int) -> ZipHeader | None:
    """Return the header in front of a member; None if there is none or it is not whole."""
    if len(content) < LOCAL_BYTES or not content.startswith(LOCAL_SIGNATURE):
        return None
    fields = _LOCAL.unpack_from(content)
    flags, method, crc, packed, size, name_bytes, extra_bytes = fields[2], fields[3], *fields[6:]
    length = LOCAL_BYTES + name_bytes + extra_bytes
    if len(content) < length:
        return None
    name_end = LOCAL_BYTES + name_bytes
    size, packed, _ = _read_zip64(content[name_end:length], size, packed, 0)
    name = _decode_name(content[LOCAL_BYTES:name_end], flags)
    return ZipHeader(name, method, flags, crc, packed, size, offset, length)


def central_header(table: bytes, at: int) -> ZipHeader | None:
    """Return an entry of the table of contents; None if there is none or it is not whole."""
    if len(table) - at < _CENTRAL.size or not table.startswith(CENTRAL_SIGNATURE, at):
        return None
    fields = _CENTRAL.unpack_from(table, at)
    name_end = at + _CENTRAL.size + fields[10]
    end = name_end + fields[11] + fields[12]
    if len(table) < end:
        return None
    extra = table[name_end : name_end + fields[11]]
    size, packed, offset = _read_zip64(extra, fields[9], fields[8], fields[16])
    name = _decode_name(table[at + _CENTRAL.size : name_end], fields[3])
    mode = fields[15] >> 16
    return ZipHeader(name, fields[4], fields[3], fields[7], packed, size, offset, end - at, mode)


def _decode_name(raw: bytes, flags: int) -> str:
    if raw.isascii():
        return raw.decode("ascii").replace("\\", "/")
    text = raw.decode("utf-8", "surrogateescape")
    if not flags & _UTF8 and any("\udc80" <= letter <= "\udcff" for letter in text):
        text = raw.decode("cp437")  # what the format says of names not marked as UTF-8
    return text.replace("\\", "/")  # some Windows programs write their own separator


def _read_zip64(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Return the three from the extra field where they need 64 bits."""
    if _IN_EXTRA_FIELD not in (size, packed, offset):
        return size, packed, offset
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            wide = iter(struct.unpack_from(f"<{len(field) // 8}Q", field))
            size = next(wide, size) if size == _IN_EXTRA_FIELD else size
            packed = next(wide, packed) if packed == _IN_EXTRA_FIELD else packed
            offset = next(wide, offset) if offset == _IN_EXTRA_FIELD else offset
            break
        at += 4 + length
    return size, packed, offset


class ZipReader:
    """Reads members of zip archives; every process opens the archive for itself."""

    def __init__(self) -> None:
        self._archive = Archive()

    def read(self, entry: Entry) -> bytes:
        """Return the content of a member, with its checksum found right.

        Raises:
            SourceImageError: it cannot be read, or is not what the archive says.
        """
        header = read_header_at(self._archive, entry.file, entry.offset)
        if header is None:
            detail = "the archive has no file at this place: it is damaged or has changed"
            raise SourceImageError(Reason.CORRUPT, detail)
        content, end = read_member(self._archive, entry.file, header, entry.size)
        if len(content) != entry.size:
            raise _corrupt_member(f"it has {len(content):,} bytes, the archive says {entry.size:,}")
        if zlib.crc32(content) != self._crc(entry.file, header, end):
            raise _corrupt_member("its checksum is not the one in the archive")
        return content

    def _crc(self, file: str, header: ZipHeader, end: int) -> int:
        if not header.is_streamed or header.crc:
            return header.crc
        descriptor = self._archive.piece(file, end, 8)
        if len(descriptor) < 8:
            raise SourceImageError(Reason.TRUNCATED, "the archive ends before its checksum")
        # The signature in front of a descriptor may be left out.
        at = 4 if descriptor.startswith(b"PK\x07\x08") else 0
        return int(struct.unpack_from("<L", descriptor, at)[0])


def read_header_at(archive: Archive, file: str, offset: int) -> ZipHeader | None:
    """Return the header of the member at an offset; None if there is none."""
    content = archive.piece(file, offset, _FIRST_READ_BYTES)
    if len(content) >= LOCAL_BYTES:
        length = LOCAL_BYTES + sum(struct.unpack_from("<2H", content, 26))
        if length > len(content):
            content = archive.piece(file, offset, length)
    return local_header(content, offset)


def read_member(archive: Archive, file: str, header: ZipHeader, size: int) -> tuple[bytes, int]:
    """Return a member's content, at most `size` bytes, and where it ends in the archive.

    Raises:
        SourceImageError: the archive ends before, or the content is larger or damaged.
    """
    start = header.offset + header.length
    if header.method == DEFLATED:
        return _inflate_member(archive, file, header, size)
    content = archive.piece(file, start, size)
    if len(content) < size:
        raise _truncated_member(start + len(content))
    return content, start + size


def _inflate_member(archive: Archive, file: str, header: ZipHeader, size: int) -> tuple[bytes, int]:
    """Inflate step by step: the compressed size may be unknown, or a lie."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    step = header.packed if 0 < header.packed <= size + _STEP_BYTES else _STEP_BYTES
    at = header.offset + header.length
    pieces = []
    room = min(size, MAX_FILE_BYTES) + 1
    while not inflater.eof:
        packed = archive.piece(file, at, step)
        if not packed:
            raise _truncated_member(at)
        at += len(packed)
        try:
            piece = inflater.decompress(packed, room)
        except zlib.error as error:
            raise _corrupt_member(f"its compressed content is damaged ({error})") from None
        room -= len(piece)
        if room <= 0:
            raise _corrupt_member(f"it is larger than the {size:,} bytes that the archive says")
        pieces.append(piece)
    return b"".join(pieces), at - len(inflater.unused_data)


def _corrupt_member(detail: str) -> SourceImageError:
    return SourceImageError(Reason.CORRUPT, detail)


def _truncated_member(at: int) -> SourceImageError:
    return SourceImageError(Reason.TRUNCATED, f"the archive ends in it, after {at:,} bytes")


def zip_members(path: str, label: str) -> Iterator[ArchiveMember]:
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
            yield from _salvaged_members(archive, path, label)
        else:
            yield from _listed_members(*table, label)
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


def _listed_members(table: bytes, shift: int, label: str) -> Iterator[ArchiveMember]:
    at = 0
    while at < len(table):
        header = central_header(table, at)
        if header is None:
            detail = f"its table of contents is damaged: {UNKNOWN_LOSS}. Get a whole copy of it"
            yield ArchiveMember(label, 0, 0, Reason.CORRUPT, detail)
            return
        if not header.name.endswith("/"):
            yield _as_member(header, header.offset + shift)
        at += header.length


def _salvaged_members(archive: Archive, path: str, label: str) -> Iterator[ArchiveMember]:
    """Yield what is whole in an archive whose table of contents, at its end, is missing."""
    if not archive.piece(path, 0, 4).startswith(LOCAL_SIGNATURE):
        raise SourceImageError(Reason.CORRUPT, "it is no archive")
    at = whole = 0
    while (header := read_header_at(archive, path, at)) is not None:
        try:
            size, end = _member_extent(archive, path, header)
        except SourceImageError:
            break
        if not header.name.endswith("/"):
            yield _as_member(replace(header, size=size), at)
            whole += 1
        at = _next_header(archive, path, end)
    if not archive.piece(path, at, 4).startswith(CENTRAL_SIGNATURE):
        after = f"after {whole:,} whole files, at byte {at:,}"
        detail = f"the archive ends early, {after}: {UNKNOWN_LOSS}"
        yield ArchiveMember(label, 0, 0, Reason.TRUNCATED, f"{detail}. Get a whole copy of it")


def _member_extent(archive: Archive, path: str, header: ZipHeader) -> tuple[int, int]:
    """Return the size of a member and where it ends in the archive."""
    start = header.offset + header.length
    if header.name.endswith("/"):
        return 0, start
    if header.is_streamed and not header.packed:
        if header.method != DEFLATED:
            raise SourceImageError(Reason.TRUNCATED, "nothing says where it ends")
        content, end = read_member(archive, path, header, MAX_FILE_BYTES)
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


def _as_member(header: ZipHeader, offset: int) -> ArchiveMember:
    fault, detail = header.fault()
    return ArchiveMember(header.name, header.size, offset, fault, detail)
