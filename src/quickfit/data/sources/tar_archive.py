"""Lists tar archives header by header, and reads members at their offsets.

The `tarfile` module is not used: it takes a damaged header for the end of the archive, so that
all that follows is lost without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.listing import UNKNOWN_LOSS
from quickfit.data.sources.members import Member
from quickfit.data.sources.names import plain
from quickfit.data.sources.readers import Archive
from quickfit.data.sources.tar_format import (
    BLOCK_BYTES,
    Header,
    has_more_pieces,
    header_of,
    pax_records,
)
from quickfit.errors import PipelineError

_FILE = (b"0", b"\0", b"7")
_LINKS = {b"1": "a link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a pipe"}
_HARD_LINK, _SPARSE = b"1", b"S"
# Folders, and the labels and folder lists of GNU's own.
_NO_FILE = (b"5", b"V", b"D")
_LONG_NAME, _LONG_LINK, _PAX_GLOBAL = b"L", b"K", b"g"
# Paths are at most 4 kB on any file system; a header that claims more is not believed.
_MAX_EXTENSION_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20


class TarReader:
    """Reads members of plain tar archives; every process opens the archive for itself."""

    def __init__(self) -> None:
        self._archive = Archive()

    def read(self, entry: Entry) -> bytes:
        """Return the content of a member.

        Raises:
            SourceImageError: it cannot be read.
        """
        content = self._archive.piece(entry.file, entry.offset, entry.size)
        if len(content) < entry.size:
            at = entry.offset + len(content)
            detail = f"the archive ends in it, after {at:,} bytes"
            raise SourceImageError(Reason.TRUNCATED, detail)
        return content


def tar_members(path: str, label: str) -> Iterator[Member]:
    """Yield the members of a tar archive; of one that ends early, those that are whole.

    Args:
        path: of the archive.
        label: what reports call it.

    Raises:
        PipelineError: it cannot be read.
    """
    try:
        yield from _Walk(path, label).members()
    except SourceImageError as error:
        raise PipelineError(f"{path}: this archive cannot be read: {error.detail}.") from None


@dataclass
class _Walk:
    path: str
    label: str
    archive: Archive = field(default_factory=Archive)
    at: int = 0
    ended: bool = False  # whether a mark of the end was passed
    # What the headers before say of the next one: its long name, its size.
    said: dict[str, bytes] = field(default_factory=dict)
    said_of_all: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.end = self.archive.size(self.path)

    def members(self) -> Iterator[Member]:
        while True:
            block = self.archive.piece(self.path, self.at, BLOCK_BYTES)
            if not block.strip(b"\0") and len(block) == BLOCK_BYTES:
                # The mark at the end; joined archives (`cat a.tar b.tar`) go on behind it.
                if not self._goes_on():
                    return
                continue
            header = header_of(block)
            if header is None:
                if self.at == 0:
                    raise SourceImageError(Reason.CORRUPT, "it is no archive")
                yield self._broken(block)
                return
            header = self._completed(header)
            start = self._content_at(header, block)
            if start + header.size > self.end:
                yield self._broken(b"")
                return
            self.at = start + -(-header.size // BLOCK_BYTES) * BLOCK_BYTES
            if not self._extends(header, start):
                yield from self._member(header, start)
                self.said = {}

    def _goes_on(self) -> bool:
        """Go to the next block that is not all zeros; tell whether there is one."""
        while piece := self.archive.piece(self.path, self.at, _PIECE_BYTES):
            zeros = len(piece) - len(piece.lstrip(b"\0"))
            if zeros < len(piece):
                self.at += zeros // BLOCK_BYTES * BLOCK_BYTES
                self.said, self.said_of_all = {}, {}
                self.ended = True
                return True
            self.at += len(piece)
        return False

    def _content_at(self, header: Header, block: bytes) -> int:
        start = self.at + BLOCK_BYTES
        is_first = True
        while header.kind == _SPARSE and has_more_pieces(block, is_first=is_first):
            block = self.archive.piece(self.path, start, BLOCK_BYTES)
            start += BLOCK_BYTES
            is_first = False
        return start

    def _broken(self, block: bytes) -> Member:
        if len(block) == BLOCK_BYTES:
            where = f"damaged at byte {self.at:,}"
            if self.ended:
                where += ", behind a mark of its end"
            detail = f"the archive is {where}: {UNKNOWN_LOSS}. Get a whole copy of it"
            return Member(self.label, 0, 0, Reason.CORRUPT, detail)
        detail = f"the archive ends early, at byte {self.at:,}: {UNKNOWN_LOSS}"
        return Member(self.label, 0, 0, Reason.TRUNCATED, f"{detail}. Get a whole copy of it")

    def _extends(self, header: Header, start: int) -> bool:
        """Take in a header that only speaks of the next one."""
        if header.is_member:
            return False
        content = self.archive.piece(self.path, start, min(header.size, _MAX_EXTENSION_BYTES))
        if header.kind == _LONG_NAME:
            self.said["path"] = content.rstrip(b"\0")
        elif header.kind == _LONG_LINK:
            self.said["linkpath"] = content.rstrip(b"\0")
        else:
            target = self.said_of_all if header.kind == _PAX_GLOBAL else self.said
            target.update(pax_records(content))
        return True

    def _completed(self, header: Header) -> Header:
        said = {**self.said_of_all, **self.said}
        return header.completed(said) if said and header.is_member else header

    def _member(self, header: Header, start: int) -> Iterator[Member]:
        name = header.name.decode("utf-8", "surrogateescape")
        is_old_folder = header.kind == b"\0" and name.endswith("/")
        if header.kind in _NO_FILE or is_old_folder:
            return
        if header.kind == _SPARSE or header.is_sparse:
            detail = "it is stored as a sparse file: unpack the archive first"
            yield Member(name, header.size, start, Reason.UNREADABLE, detail)
        elif header.kind in _FILE:
            yield Member(name, header.size, start)
        else:
            what = _LINKS.get(header.kind, f"of the unknown kind {header.kind!r}")
            target = header.link.decode("utf-8", "surrogateescape")
            twin = plain(target) if header.kind == _HARD_LINK else ""
            yield Member(name, 0, 0, Reason.UNSAFE_PATH, f"it is {what}, not a file", twin)
