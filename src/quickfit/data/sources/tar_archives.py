"""Tar archives: members at their offsets in plain ones, compressed ones unpacked first."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.files import Archive
from quickfit.data.sources.listing import UNKNOWN_LOSS, ArchiveMember, normal_member_name
from quickfit.errors import PipelineError, UsageError
from quickfit.units import size as bytes_text

BLOCK_BYTES = 512
_TAR_EXTENSIONS = (b"L", b"K", b"x", b"X", b"g")
# Links, devices, folders and pipes may claim the size of what they stand for; no content follows.
_WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")
_FILE = (b"0", b"\0", b"7")
_LINKS = {b"1": "a link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a pipe"}
_HARD_LINK, _SPARSE = b"1", b"S"
# Folders, and the labels and folder lists of GNU's own.
_NO_FILE = (b"5", b"V", b"D")
_LONG_NAME, _LONG_LINK, _PAX_GLOBAL = b"L", b"K", b"g"
# Paths are at most 4 kB on any file system; a header that claims more is not believed.
_MAX_EXTENSION_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20
UnpackProgress = Callable[[int, int], None]
_COMPRESSION_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_UNPACK_PIECE_BYTES = 1 << 20
# Left free, so that unpacking does not stop everything else on the machine.
_SPARE_BYTES = 200_000_000
_LOOK_AFTER_BYTES = 16_000_000
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True)
class TarHeader:
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
        return self.kind not in _TAR_EXTENSIONS

    def with_extensions(self, said: dict[str, bytes]) -> TarHeader:
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


def parse_tar_header(block: bytes) -> TarHeader | None:
    """Return the header in a block; None if the block holds none, or a damaged one."""
    if len(block) < BLOCK_BYTES or not _is_whole(block):
        return None
    size = _parse_number(block[124:136])
    if size is None:
        return None
    name = block[:100].split(b"\0", 1)[0]
    if block[257:263] == b"ustar\0" and block[345] != 0:
        name = block[345:500].split(b"\0", 1)[0] + b"/" + name
    kind = block[156:157]
    link = block[157:257].split(b"\0", 1)[0]
    return TarHeader(name, 0 if kind in _WITHOUT_CONTENT else size, kind, link)


def has_more_sparse_pieces(block: bytes, *, is_first: bool) -> bool:
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
    stated = _parse_number(block[148:156])
    total = sum(block) - sum(block[148:156]) + 8 * 32
    if stated == total:
        return True
    # Some old programs summed signed bytes.
    return stated == total - 256 * sum(byte > 127 for byte in block[:148] + block[156:])


def _parse_number(raw: bytes) -> int | None:
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")  # too large for eight octal digits
    digits = raw.split(b"\0", 1)[0].strip(b" ")
    if not digits:
        return 0
    return int(digits, 8) if not digits.strip(b"01234567") else None


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


def tar_members(path: str, label: str) -> Iterator[ArchiveMember]:
    """Yield the members of a tar archive; of one that ends early, those that are whole.

    Args:
        path: of the archive.
        label: what reports call it.

    Raises:
        PipelineError: it cannot be read.
    """
    try:
        yield from _TarWalk(path, label).members()
    except SourceImageError as error:
        raise PipelineError(f"{path}: this archive cannot be read: {error.detail}.") from None


@dataclass
class _TarWalk:
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

    def members(self) -> Iterator[ArchiveMember]:
        while True:
            block = self.archive.piece(self.path, self.at, BLOCK_BYTES)
            if not block.strip(b"\0") and len(block) == BLOCK_BYTES:
                # The mark at the end; joined archives (`cat a.tar b.tar`) go on behind it.
                if not self._goes_on():
                    return
                continue
            header = parse_tar_header(block)
            if header is None:
                if self.at == 0:
                    raise SourceImageError(Reason.CORRUPT, "it is no archive")
                yield self._broken_error(block)
                return
            header = self._complete_header(header)
            start = self._content_at(header, block)
            if start + header.size > self.end:
                yield self._broken_error(b"")
                return
            self.at = start + -(-header.size // BLOCK_BYTES) * BLOCK_BYTES
            if not self._read_extension(header, start):
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

    def _content_at(self, header: TarHeader, block: bytes) -> int:
        start = self.at + BLOCK_BYTES
        is_first = True
        while header.kind == _SPARSE and has_more_sparse_pieces(block, is_first=is_first):
            block = self.archive.piece(self.path, start, BLOCK_BYTES)
            start += BLOCK_BYTES
            is_first = False
        return start

    def _broken_error(self, block: bytes) -> ArchiveMember:
        if len(block) == BLOCK_BYTES:
            where = f"damaged at byte {self.at:,}"
            if self.ended:
                where += ", behind a mark of its end"
            detail = f"the archive is {where}: {UNKNOWN_LOSS}. Get a whole copy of it"
            return ArchiveMember(self.label, 0, 0, Reason.CORRUPT, detail)
        detail = f"the archive ends early, at byte {self.at:,}: {UNKNOWN_LOSS}"
        return ArchiveMember(
            self.label, 0, 0, Reason.TRUNCATED, f"{detail}. Get a whole copy of it"
        )

    def _read_extension(self, header: TarHeader, start: int) -> bool:
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

    def _complete_header(self, header: TarHeader) -> TarHeader:
        said = {**self.said_of_all, **self.said}
        return header.with_extensions(said) if said and header.is_member else header

    def _member(self, header: TarHeader, start: int) -> Iterator[ArchiveMember]:
        name = header.name.decode("utf-8", "surrogateescape")
        is_old_folder = header.kind == b"\0" and name.endswith("/")
        if header.kind in _NO_FILE or is_old_folder:
            return
        if header.kind == _SPARSE or header.is_sparse:
            detail = "it is stored as a sparse file: unpack the archive first"
            yield ArchiveMember(name, header.size, start, Reason.UNREADABLE, detail)
        elif header.kind in _FILE:
            yield ArchiveMember(name, header.size, start)
        else:
            what = _LINKS.get(header.kind, f"of the unknown kind {header.kind!r}")
            target = header.link.decode("utf-8", "surrogateescape")
            twin = normal_member_name(target) if header.kind == _HARD_LINK else ""
            yield ArchiveMember(name, 0, 0, Reason.UNSAFE_PATH, f"it is {what}, not a file", twin)


def archive_compression(path: str) -> str | None:
    """Return what a file is compressed with: "gzip", "bzip2", "xz" or "zstd"; None if it is not.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            begin = file.read(8)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
    return next(
        (name for magic, name in _COMPRESSION_MAGIC.items() if begin.startswith(magic)), None
    )


def unpack_archive(where: object, scratch: Path, progress: UnpackProgress | None = None) -> object:
    """Return the plain tar archive of a compressed one; everything else as it is.

    What was unpacked before is used again. An archive that ends early gives what came before.

    Args:
        where: what images are read from.
        scratch: the folder to unpack to; the caller deletes it.
        progress: called with the bytes read so far and those of the whole archive.

    Raises:
        PipelineError: the archive is damaged, or the disk is full.
        UsageError: it is compressed in a way that Python cannot read.
    """
    if not isinstance(where, str | bytes | os.PathLike) or not os.path.isfile(where):
        return where
    path = os.fsdecode(where)
    compression = archive_compression(path)
    if compression is None:
        return where
    if compression == "zstd":
        raise UsageError(f"{path}: is compressed with zstd. Unpack it first:\n    zstd -d {path}")
    target = scratch / _archive_identity(path) / _plain_name(path)
    if not target.exists():
        part = target.with_name(target.name + ".part")
        _unpack_to(path, compression, part, progress)
        part.replace(target)
    return target


def _unpack_to(path: str, compression: str, part: Path, progress: UnpackProgress | None) -> None:
    total = os.path.getsize(path)
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with _removed_on_failure(part), open(path, "rb") as packed, part.open("w+b") as plain:
            written = 0
            try:
                for piece in _content_pieces(path, packed, compression):
                    if written % _LOOK_AFTER_BYTES < len(piece):
                        _check_disk_room(path, part.parent)
                    plain.write(piece)
                    written += len(piece)
                    if progress is not None:
                        progress(packed.tell(), total)
            except EOFError:
                _cut_end_mark(plain)
            plain.flush()
            os.fsync(plain.fileno())
    except OSError as error:
        if error.errno in _DISK_FULL:
            raise _no_room_error(path, part.parent, error.strerror or "") from None
        raise PipelineError(f"{path}: cannot be unpacked: {error.strerror or error}.") from None


@contextmanager
def _removed_on_failure(part: Path) -> Iterator[None]:
    """Leave nothing half unpacked behind, whatever happens (Ctrl-C too)."""
    try:
        yield
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _content_pieces(path: str, packed: IO[bytes], compression: str) -> Iterator[bytes]:
    """Yield the content in pieces.

    Raises:
        EOFError: the archive ends early, or something else follows it.
        PipelineError: it is damaged.
    """
    try:
        if compression == "gzip":
            yield from _gzip_pieces(packed)
        else:
            start = bz2.BZ2Decompressor if compression == "bzip2" else lzma.LZMADecompressor
            yield from _stream_pieces(packed, start)
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        if str(error).startswith("Not a gzipped file"):  # behind the archive: it began as one
            raise EOFError from None
        raise _damaged_error(path, error) from None
    except OSError as error:
        if error.errno is None:  # how bz2 tells of damage
            raise _damaged_error(path, error) from None
        raise


def _gzip_pieces(packed: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=packed, mode="rb") as plain:
        while piece := plain.read1(_UNPACK_PIECE_BYTES):
            yield piece


def _stream_pieces(
    packed: IO[bytes], start: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[bytes]:
    """Yield the content of joined streams; the classes of Python for files drop what follows."""
    stream = start()
    while True:
        if not stream.eof:
            raw = packed.read(_UNPACK_PIECE_BYTES) if stream.needs_input else b""
            if stream.needs_input and not raw:
                raise EOFError
            piece = stream.decompress(raw, _UNPACK_PIECE_BYTES)
        elif raw := _next_stream(packed, stream.unused_data):
            stream = start()
            try:
                piece = stream.decompress(raw, _UNPACK_PIECE_BYTES)
            except (OSError, lzma.LZMAError):
                raise EOFError from None
        else:
            return
        if piece:
            yield piece


def _next_stream(packed: IO[bytes], raw: bytes) -> bytes:
    """Return what follows a stream, without the zeros that fill up; empty at the end."""
    raw = raw.lstrip(b"\0")
    while not raw and (more := packed.read(_UNPACK_PIECE_BYTES)):
        raw = more.lstrip(b"\0")
    return raw


def _cut_end_mark(plain: IO[bytes]) -> None:
    """Cut the zeros off that a tar archive ends with: one that ends early must not look whole."""
    size = end = plain.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - _UNPACK_PIECE_BYTES)
        plain.seek(begin)
        if kept := plain.read(end - begin).rstrip(b"\0"):
            end = begin + len(kept)
            break
        end = begin
    plain.truncate(min(size, -(-end // BLOCK_BYTES) * BLOCK_BYTES))
    plain.seek(0, os.SEEK_END)


def _damaged_error(path: str, error: Exception) -> PipelineError:
    return PipelineError(
        f"{path}: this archive is damaged: {error}.\nNothing in it can be trusted: get a new copy."
    )


def _check_disk_room(path: str, folder: Path) -> None:
    if shutil.disk_usage(folder).free < _SPARE_BYTES:
        raise _no_room_error(path, folder, "the disk is nearly full")


def _no_room_error(path: str, folder: Path, why: str) -> PipelineError:
    free = bytes_text(shutil.disk_usage(folder).free)
    return PipelineError(
        f"{path}: there is no room to unpack it ({why}): {free} are free in {folder}.\n"
        "Free some space, or unpack it elsewhere (tar -xf) and give the folder."
    )


def _archive_identity(path: str) -> str:
    """Return a short text that changes when the archive does."""
    status = os.stat(path)
    text = f"{os.path.realpath(path)}|{status.st_size}|{status.st_mtime_ns}"
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:12]


def _plain_name(path: str) -> str:
    stem = os.path.basename(path)
    for ending in (".tgz", ".tbz2", ".tbz", ".txz", ".gz", ".bz2", ".xz"):
        stem = stem.removesuffix(ending)
    return stem.removesuffix(".tar") + ".tar"
