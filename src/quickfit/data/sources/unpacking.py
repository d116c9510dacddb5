"""Unpacks compressed tar archives to plain ones, which can be read at any place."""

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
from pathlib import Path
from typing import IO

from quickfit.data.sources.tar_format import BLOCK_BYTES
from quickfit.errors import PipelineError, UsageError
from quickfit.units import size as bytes_text

Progress = Callable[[int, int], None]

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_PIECE_BYTES = 1 << 20
# Left free, so that unpacking does not stop everything else on the machine.
_SPARE_BYTES = 200_000_000
_LOOK_AFTER_BYTES = 16_000_000
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def compression_of(path: str) -> str | None:
    """Return what a file is compressed with: "gzip", "bzip2", "xz" or "zstd"; None if it is not.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            begin = file.read(8)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)


def unpacked(where: object, scratch: Path, progress: Progress | None = None) -> object:
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
    compression = compression_of(path)
    if compression is None:
        return where
    if compression == "zstd":
        raise UsageError(f"{path}: is compressed with zstd. Unpack it first:\n    zstd -d {path}")
    target = scratch / _identity(path) / _plain_name(path)
    if not target.exists():
        part = target.with_name(target.name + ".part")
        _unpack(path, compression, part, progress)
        part.replace(target)
    return target


def _unpack(path: str, compression: str, part: Path, progress: Progress | None) -> None:
    total = os.path.getsize(path)
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with _removed_on_failure(part), open(path, "rb") as packed, part.open("w+b") as plain:
            written = 0
            try:
                for piece in _pieces(path, packed, compression):
                    if written % _LOOK_AFTER_BYTES < len(piece):
                        _check_room(path, part.parent)
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
            raise _no_room(path, part.parent, error.strerror or "") from None
        raise PipelineError(f"{path}: cannot be unpacked: {error.strerror or error}.") from None


@contextmanager
def _removed_on_failure(part: Path) -> Iterator[None]:
    """Leave nothing half unpacked behind, whatever happens (Ctrl-C too)."""
    try:
        yield
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _pieces(path: str, packed: IO[bytes], compression: str) -> Iterator[bytes]:
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
        raise _damaged(path, error) from None
    except OSError as error:
        if error.errno is None:  # how bz2 tells of damage
            raise _damaged(path, error) from None
        raise


def _gzip_pieces(packed: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=packed, mode="rb") as plain:
        while piece := plain.read1(_PIECE_BYTES):
            yield piece


def _stream_pieces(
    packed: IO[bytes], start: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[bytes]:
    """Yield the content of joined streams; the classes of Python for files drop what follows."""
    stream = start()
    while True:
        if not stream.eof:
            raw = packed.read(_PIECE_BYTES) if stream.needs_input else b""
            if stream.needs_input and not raw:
                raise EOFError
            piece = stream.decompress(raw, _PIECE_BYTES)
        elif raw := _next_stream(packed, stream.unused_data):
            stream = start()
            try:
                piece = stream.decompress(raw, _PIECE_BYTES)
            except (OSError, lzma.LZMAError):
                raise EOFError from None
        else:
            return
        if piece:
            yield piece


def _next_stream(packed: IO[bytes], raw: bytes) -> bytes:
    """Return what follows a stream, without the zeros that fill up; empty at the end."""
    raw = raw.lstrip(b"\0")
    while not raw and (more := packed.read(_PIECE_BYTES)):
        raw = more.lstrip(b"\0")
    return raw


def _cut_end_mark(plain: IO[bytes]) -> None:
    """Cut the zeros off that a tar archive ends with: one that ends early must not look whole."""
    size = end = plain.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - _PIECE_BYTES)
        plain.seek(begin)
        if kept := plain.read(end - begin).rstrip(b"\0"):
            end = begin + len(kept)
            break
        end = begin
    plain.truncate(min(size, -(-end // BLOCK_BYTES) * BLOCK_BYTES))
    plain.seek(0, os.SEEK_END)


def _damaged(path: str, error: Exception) -> PipelineError:
    return PipelineError(
        f"{path}: this archive is damaged: {error}.\nNothing in it can be trusted: get a new copy."
    )


def _check_room(path: str, folder: Path) -> None:
    if shutil.disk_usage(folder).free < _SPARE_BYTES:
        raise _no_room(path, folder, "the disk is nearly full")


def _no_room(path: str, folder: Path, why: str) -> PipelineError:
    free = bytes_text(shutil.disk_usage(folder).free)
    return PipelineError(
        f"{path}: there is no room to unpack it ({why}): {free} are free in {folder}.\n"
        "Free some space, or unpack it elsewhere (tar -xf) and give the folder."
    )


def _identity(path: str) -> str:
    """Return a short text that changes when the archive does."""
    status = os.stat(path)
    text = f"{os.path.realpath(path)}|{status.st_size}|{status.st_mtime_ns}"
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:12]


def _plain_name(path: str) -> str:
    stem = os.path.basename(path)
    for ending in (".tgz", ".tbz2", ".tbz", ".txz", ".gz", ".bz2", ".xz"):
        stem = stem.removesuffix(ending)
    return stem.removesuffix(".tar") + ".tar"
