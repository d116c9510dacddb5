"""The header of a tar archive's member, in the dialects that are in use: v7, ustar, GNU, PAX."""

from __future__ import annotations

from dataclasses import dataclass, replace

BLOCK_BYTES = 512
_EXTENSIONS = (b"L", b"K", b"x", b"X", b"g")
# Links, devices, folders and pipes may claim the size of what they stand for; no content follows.
_WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")


@dataclass(frozen=True, slots=True)
class Header:
    """What one header says.

    Args:
        name: the member's path, as bytes.
        size: of its content in bytes.
        kind: one byte; what the member is.
        link: the path a link leads to.
        is_sparse: whether holes are left out of the content.
    """

    name: bytes
    size: int
    kind: bytes
    link: bytes
    is_sparse: bool = False

    @property
    def is_member(self) -> bool:
        """Whether it stands for something in the archive, not for more about the next header."""
        return self.kind not in _EXTENSIONS

    def completed(self, said: dict[str, bytes]) -> Header:
        """Return the header with what an extension before it said."""
        size = said.get("size", b"")
        is_sized = size.isdigit() and self.kind not in _WITHOUT_CONTENT
        return replace(
            self,
            name=said.get("GNU.sparse.name", said.get("path", self.name)),
            link=said.get("linkpath", self.link),
            size=int(size) if is_sized else self.size,
            is_sparse=any(key.startswith("GNU.sparse.") for key in said),
        )


def header_of(block: bytes) -> Header | None:
    """Return the header in a block; None if the block holds none, or a damaged one."""
    if len(block) < BLOCK_BYTES or not _is_whole(block):
        return None
    size = _number(block[124:136])
    if size is None:
        return None
    name = block[:100].split(b"\0", 1)[0]
    if block[257:263] == b"ustar\0" and block[345] != 0:
        name = block[345:500].split(b"\0", 1)[0] + b"/" + name
    kind = block[156:157]
    link = block[157:257].split(b"\0", 1)[0]
    return Header(name, 0 if kind in _WITHOUT_CONTENT else size, kind, link)


def has_more_pieces(block: bytes, *, is_first: bool) -> bool:
    """Return whether another block of the list of a sparse file's pieces follows this one."""
    return block[482 if is_first else 504 : 505][:1] not in (b"", b"\0")


def pax_records(content: bytes) -> dict[str, bytes]:
    """Return the `length key=value` records of a PAX header; stops at what is damaged."""
    records: dict[str, bytes] = {}
    at = 0
    while (space := content.find(b" ", at)) > at and content[at:space].isdigit():
        length = int(content[at:space])
        if length <= space - at or at + length > len(content):
            break
        key, equals, value = content[space + 1 : at + length - 1].partition(b"=")
        if equals:
            records[key.decode("utf-8", "replace")] = value
        at += length
    return records


def _is_whole(block: bytes) -> bool:
    """Compare the checksum: of all bytes, with its own place taken for spaces."""
    stated = _number(block[148:156])
    total = sum(block) - sum(block[148:156]) + 8 * 32
    if stated == total:
        return True
    # Some old programs summed signed bytes.
    return stated == total - 256 * sum(byte > 127 for byte in block[:148] + block[156:])


def _number(raw: bytes) -> int | None:
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")  # too large for eight octal digits
    digits = raw.split(b"\0", 1)[0].strip(b" ")
    if not digits:
        return 0
    return int(digits, 8) if not digits.strip(b"01234567") else None
