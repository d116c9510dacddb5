"""What a zip archive says of its members: in its table of contents, and in front of each."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from quickfit.data.entries import Reason

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


@dataclass(frozen=True, slots=True)
class Header:
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


def local_header(content: bytes, offset: int) -> Header | None:
    """Return the header in front of a member; None if there is none or it is not whole."""
    if len(content) < LOCAL_BYTES or not content.startswith(LOCAL_SIGNATURE):
        return None
    fields = _LOCAL.unpack_from(content)
    flags, method, crc, packed, size, name_bytes, extra_bytes = fields[2], fields[3], *fields[6:]
    length = LOCAL_BYTES + name_bytes + extra_bytes
    if len(content) < length:
        return None
    name_end = LOCAL_BYTES + name_bytes
    size, packed, _ = _widened(content[name_end:length], size, packed, 0)
    name = _text(content[LOCAL_BYTES:name_end], flags)
    return Header(name, method, flags, crc, packed, size, offset, length)


def central_header(table: bytes, at: int) -> Header | None:
    """Return an entry of the table of contents; None if there is none or it is not whole."""
    if len(table) - at < _CENTRAL.size or not table.startswith(CENTRAL_SIGNATURE, at):
        return None
    fields = _CENTRAL.unpack_from(table, at)
    name_end = at + _CENTRAL.size + fields[10]
    end = name_end + fields[11] + fields[12]
    if len(table) < end:
        return None
    extra = table[name_end : name_end + fields[11]]
    size, packed, offset = _widened(extra, fields[9], fields[8], fields[16])
    name = _text(table[at + _CENTRAL.size : name_end], fields[3])
    mode = fields[15] >> 16
    return Header(name, fields[4], fields[3], fields[7], packed, size, offset, end - at, mode)


def _text(raw: bytes, flags: int) -> str:
    if raw.isascii():
        return raw.decode("ascii").replace("\\", "/")
    text = raw.decode("utf-8", "surrogateescape")
    if not flags & _UTF8 and any("\udc80" <= letter <= "\udcff" for letter in text):
        text = raw.decode("cp437")  # what the format says of names not marked as UTF-8
    return text.replace("\\", "/")  # some Windows programs write their own separator


def _widened(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
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
