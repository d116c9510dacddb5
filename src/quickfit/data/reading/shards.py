"""Reads records of a pack at any place, from any thread, each compared with its checksum."""

from __future__ import annotations

import os
import struct
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.packing.framing import HEAD_BYTES, TAIL_BYTES, masked

if TYPE_CHECKING:
    from quickfit.data.reading.pack_index import Index, Whole

T = TypeVar("T")

# Of the 1,024 files that a process may have open by default, most are left to the user.
_MOST_OPEN_FILES = 256


class Spot(NamedTuple):
    """Where a record is: its shard, where it begins there, and the bytes of its content."""

    shard: int
    offset: int
    length: int


class Shards:
    """The files of a pack.

    A file that was opened stays the same file, also where the pack is made again meanwhile.
    """

    def __init__(self, index: Index) -> None:
        from crc32c import crc32c

        self._crc32c: Callable[..., int] = crc32c
        self._index = index
        self._open: dict[int, int] = {}
        weakref.finalize(self, _close, self._open)

    def spots(self, positions: Whole) -> list[Spot]:
        """Return where records are."""
        columns = (self._index.shard, self._index.offset, self._index.length)
        return list(map(Spot, *(column[positions].tolist() for column in columns)))

    def content(self, spot: Spot) -> bytes:
        """Return a record.

        Raises:
            SourceImageError: it is damaged or cannot be read.
        """
        size = spot.length + TAIL_BYTES
        whole: bytes = self._with_file(spot, lambda file, at: os.pread(file, size, at))
        if len(whole) != size:
            raise _cut_off()
        content = whole[: spot.length]
        self._compare(self._crc32c(content), whole[spot.length :])
        return content

    def read_end(self, spot: Spot, out: memoryview) -> bytearray:
        """Read the last bytes of a record into `out`, and return what stands before them.

        The pixels of a raw pack end the record.

        Raises:
            SourceImageError: it is damaged or cannot be read.
        """
        if spot.length < len(out):
            raise SourceImageError(Reason.CORRUPT, f"has {spot.length:,} bytes, too few for pixels")
        start = bytearray(spot.length - len(out))
        end = bytearray(TAIL_BYTES)
        parts: list[bytearray | memoryview] = [start, out, end]
        if self._with_file(spot, lambda file, at: os.preadv(file, parts, at)) != sum(
            map(len, parts)
        ):
            raise _cut_off()
        self._compare(self._crc32c(out, self._crc32c(start)), end)
        return start

    def announce(self, positions: Whole) -> None:
        """Tell the system which records are read next: a disk then reads them in one sweep."""
        if not hasattr(os, "posix_fadvise"):
            return
        for first, last in _runs(positions, self._index.shard):
            begin, end = self.spots(np.array((first, last)))
            size = end.offset + end.length - begin.offset
            with suppress(OSError):  # told when it is read
                if (file := self._kept(begin.shard)) is not None:
                    os.posix_fadvise(file, begin.offset, size, os.POSIX_FADV_WILLNEED)

    def _with_file(self, spot: Spot, read: Callable[[int, int], T]) -> T:
        """Call `read` with a file and where the record's content begins in it."""
        at = spot.offset + HEAD_BYTES
        try:
            file = self._kept(spot.shard)
            if file is not None:
                return read(file, at)
            with self._index.files[spot.shard].open("rb") as stream:
                return read(stream.fileno(), at)
        except OSError as error:
            raise SourceImageError(Reason.UNREADABLE, f"cannot be read: {error.strerror}") from None

    def _kept(self, shard: int) -> int | None:
        """Return a shard that stays open; None where many are open already."""
        file = self._open.get(shard)
        if file is not None or len(self._open) >= _MOST_OPEN_FILES:
            return file
        file = os.open(self._index.files[shard], os.O_RDONLY | os.O_CLOEXEC)
        first = self._open.setdefault(shard, file)
        if first != file:
            os.close(file)  # another thread was faster
        return first

    def _compare(self, crc: int, end: bytes | bytearray) -> None:
        if struct.unpack("<I", end)[0] != masked(crc):
            raise SourceImageError(Reason.CORRUPT, "its bytes differ from its checksum")


def _cut_off() -> SourceImageError:
    return SourceImageError(Reason.TRUNCATED, "its shard ends inside it")


def _runs(positions: Whole, shard: Whole) -> list[tuple[int, int]]:
    """Return the first and last of each run of neighbours in one shard."""
    if not len(positions):
        return []
    ordered = np.sort(positions)
    breaks = (np.diff(ordered) > 1) | (np.diff(shard[ordered]) != 0)
    firsts = ordered[np.concatenate(([True], breaks))]
    lasts = ordered[np.concatenate((breaks, [True]))]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _close(files: dict[int, int]) -> None:
    while files:
        os.close(files.popitem()[1])
