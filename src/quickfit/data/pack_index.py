"""Where every record of a pack is, and reading them at any place from any thread."""

from __future__ import annotations

import json
import os
import re
import struct
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.epoch_order import Positions
from quickfit.data.packing.manifest import Manifest, PackLayout, ShardFacts, read_json_lines
from quickfit.data.tfrecord import HEAD_BYTES, TAIL_BYTES, mask_crc
from quickfit.errors import PipelineError

# The numbers of a line as the packer writes it. A quote in a path is escaped, so it cannot look
# like this. Ten times as fast as JSON, which is asked where this does not fit.
_NUMBERS = re.compile(rb'"label":(-?\d+),"sha256":"[0-9a-f]{64}","offset":(\d+),"length":(\d+)\}\n')
_T = TypeVar("_T")
# Of the 1,024 files that a process may have open by default, most are left to the user.
_MOST_OPEN_FILES = 256


@dataclass(frozen=True, slots=True)
class PackIndex:
    """The records of a pack by position: all of the first shard, then all of the second, …

    Args:
        folder: the pack.
        files: its shards.
        shard: the file of each record, as a place in `files`.
        offset: where the record begins in its file.
        length: the bytes of its content.
        label: its class.
    """

    folder: Path
    files: tuple[Path, ...]
    shard: Positions
    offset: Positions
    length: Positions
    label: Positions

    def __len__(self) -> int:
        return len(self.label)

    def path_of(self, position: int) -> str:
        """Return the name of a record's image in the source of the pack."""
        shard = int(self.shard[position])
        line = position - int(np.searchsorted(self.shard, shard))
        file = _list_file(self.folder, self.files[shard])
        try:
            return str(json.loads(file.read_bytes().splitlines()[line])["path"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            _raise_changed(self.folder, f"line {line + 1} of {file.name} does not name a record")

    def place_of(self, position: int) -> str:
        """Return a record's shard and its number there, from 0."""
        shard = int(self.shard[position])
        number = position - int(np.searchsorted(self.shard, shard))
        return f"{self.files[shard]}, record {number}"


def has_index(folder: Path, manifest: Manifest) -> bool:
    """Return whether the lists of all shards are there."""
    return all(_list_file(folder, folder / shard.file).is_file() for shard in manifest.shards)


def open_index(folder: Path, manifest: Manifest) -> PackIndex:
    """Return where the records of a pack are.

    Raises:
        PipelineError: a list does not fit its shard.
    """
    tables = [_read_table(folder, shard, manifest.files) for shard in manifest.shards]
    counts = [len(table) for table in tables]
    rows = np.concatenate(tables) if tables else np.empty((0, 3), np.int64)
    return PackIndex(
        folder,
        tuple(folder / shard.file for shard in manifest.shards),
        np.repeat(np.arange(len(counts), dtype=np.int64), counts),
        label=np.ascontiguousarray(rows[:, 0]),
        offset=np.ascontiguousarray(rows[:, 1]),
        length=np.ascontiguousarray(rows[:, 2]),
    )


def check_shards(folder: Path, manifest: Manifest) -> None:
    """Compare the shards in the folder with the manifest, by name and size.

    Raises:
        PipelineError: a shard is missing, too many, or has another size.
    """
    for shard in manifest.shards:
        file = folder / shard.file
        if not file.is_file():
            _raise_changed(folder, f"the shard {shard.file} is missing")
        size = file.stat().st_size
        if size != shard.bytes:
            _raise_changed(
                folder, f"{shard.file} has {size:,} bytes and should have {shard.bytes:,}"
            )
    known = {shard.file for shard in manifest.shards}
    own = {file.name for file in PackLayout(folder).written() if file.suffix == ".tfrecord"}
    if extra := sorted(own - known):
        _raise_changed(folder, f"the shard {extra[0]} is not in its manifest")


def _read_table(folder: Path, shard: ShardFacts, checksums: Mapping[str, int]) -> Positions:
    """Return label, offset and length of each record of a shard."""
    file = _list_file(folder, folder / shard.file)
    try:
        content = file.read_bytes()
        _check_list(folder, file, content, checksums)
        rows = _parse_fast(content) or _parse_slow(file)
        table = np.array(rows, np.int64).reshape(-1, 3)
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        _raise_changed(folder, f"{file.name} cannot be read as a list of records ({error})")
    ends = table[:, 1] + table[:, 2] + HEAD_BYTES + TAIL_BYTES
    begins = np.concatenate(([0], ends[:-1])) if len(table) else ends
    end = int(ends[-1]) if len(table) else 0
    if len(table) != shard.count or end != shard.bytes or np.any(begins != table[:, 1]):
        _raise_changed(
            folder, f"{file.name} does not list the {shard.count:,} records of {shard.file}"
        )
    return table


def _check_list(folder: Path, file: Path, content: bytes, checksums: Mapping[str, int]) -> None:
    """Raise an error if the list is not the one that was written: labels stand in it."""
    from crc32c import crc32c

    wanted = checksums.get(file.relative_to(folder).as_posix())
    if wanted is not None and crc32c(content) != wanted:
        _raise_changed(folder, f"{file.name} differs from its checksum")


def _parse_fast(content: bytes) -> list[tuple[int, int, int]] | None:
    found = _NUMBERS.findall(content)
    if len(found) != content.count(b"\n"):
        return None
    return [(int(label), int(offset), int(length)) for label, offset, length in found]


def _parse_slow(file: Path) -> list[tuple[int, int, int]]:
    lines = read_json_lines(file)
    return [(int(line["label"]), int(line["offset"]), int(line["length"])) for line in lines]


def _list_file(folder: Path, shard: Path) -> Path:
    return PackLayout(folder).shard(shard.stem).index


def _raise_changed(folder: Path, what: str) -> NoReturn:
    raise PipelineError(
        f"{folder}: the pack is not as it was made: {what}.\n"
        f"To see all that differs:\n    quickfit pack --verify {folder}\n"
        f"To make it again:\n    quickfit pack SRC {folder} --restart"
    )


class RecordSpot(NamedTuple):
    """Where a record is: its shard, where it begins there, and the bytes of its content."""

    shard: int
    offset: int
    length: int


class ShardReader:
    """The files of a pack.

    A file that was opened stays the same file, also where the pack is made again meanwhile.
    """

    def __init__(self, index: PackIndex) -> None:
        from crc32c import crc32c

        self._crc32c: Callable[..., int] = crc32c
        self._index = index
        self._open: dict[int, int] = {}
        weakref.finalize(self, _close_files, self._open)

    def spots(self, positions: Positions) -> list[RecordSpot]:
        """Return where records are."""
        columns = (self._index.shard, self._index.offset, self._index.length)
        return list(map(RecordSpot, *(column[positions].tolist() for column in columns)))

    def content(self, spot: RecordSpot) -> bytes:
        """Return a record.

        Raises:
            SourceImageError: it is damaged or cannot be read.
        """
        size = spot.length + TAIL_BYTES
        whole: bytes = self._with_file(spot, lambda file, at: os.pread(file, size, at))
        if len(whole) != size:
            raise _truncated_shard()
        content = whole[: spot.length]
        self._check_checksum(self._crc32c(content), whole[spot.length :])
        return content

    def read_end(self, spot: RecordSpot, out: memoryview) -> bytearray:
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
            raise _truncated_shard()
        self._check_checksum(self._crc32c(out, self._crc32c(start)), end)
        return start

    def announce(self, positions: Positions) -> None:
        """Tell the system which records are read next: a disk then reads them in one sweep."""
        if not hasattr(os, "posix_fadvise"):
            return
        for first, last in _position_runs(positions, self._index.shard):
            begin, end = self.spots(np.array((first, last)))
            size = end.offset + end.length - begin.offset
            with suppress(OSError):  # told when it is read
                if (file := self._open_file(begin.shard)) is not None:
                    os.posix_fadvise(file, begin.offset, size, os.POSIX_FADV_WILLNEED)

    def _with_file(self, spot: RecordSpot, read: Callable[[int, int], _T]) -> _T:
        """Call `read` with a file and where the record's content begins in it."""
        at = spot.offset + HEAD_BYTES
        try:
            file = self._open_file(spot.shard)
            if file is not None:
                return read(file, at)
            with self._index.files[spot.shard].open("rb") as stream:
                return read(stream.fileno(), at)
        except OSError as error:
            raise SourceImageError(Reason.UNREADABLE, f"cannot be read: {error.strerror}") from None

    def _open_file(self, shard: int) -> int | None:
        """Return a shard that stays open; None where many are open already."""
        file = self._open.get(shard)
        if file is not None or len(self._open) >= _MOST_OPEN_FILES:
            return file
        file = os.open(self._index.files[shard], os.O_RDONLY | os.O_CLOEXEC)
        first = self._open.setdefault(shard, file)
        if first != file:
            os.close(file)  # another thread was faster
        return first

    def _check_checksum(self, crc: int, end: bytes | bytearray) -> None:
        if struct.unpack("<I", end)[0] != mask_crc(crc):
            raise SourceImageError(Reason.CORRUPT, "its bytes differ from its checksum")


def _truncated_shard() -> SourceImageError:
    return SourceImageError(Reason.TRUNCATED, "its shard ends inside it")


def _position_runs(positions: Positions, shard: Positions) -> list[tuple[int, int]]:
    """Return the first and last of each run of neighbours in one shard."""
    if not len(positions):
        return []
    ordered = np.sort(positions)
    breaks = (np.diff(ordered) > 1) | (np.diff(shard[ordered]) != 0)
    firsts = ordered[np.concatenate(([True], breaks))]
    lasts = ordered[np.concatenate((breaks, [True]))]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _close_files(files: dict[int, int]) -> None:
    while files:
        os.close(files.popitem()[1])
