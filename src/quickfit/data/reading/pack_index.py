"""Where every record of a pack is: from the lists beside its shards, held against the files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from quickfit.data.packing import json_lines
from quickfit.data.packing.framing import HEAD_BYTES, TAIL_BYTES
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.manifest import Manifest, ShardFacts
from quickfit.errors import PipelineError

Whole = NDArray[np.int64]

# The numbers of a line as the packer writes it. A quote in a path is escaped, so it cannot look
# like this. Ten times as fast as JSON, which is asked where this does not fit.
_NUMBERS = re.compile(rb'"label":(-?\d+),"sha256":"[0-9a-f]{64}","offset":(\d+),"length":(\d+)\}\n')


@dataclass(frozen=True, slots=True)
class Index:
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
    shard: Whole
    offset: Whole
    length: Whole
    label: Whole

    def __len__(self) -> int:
        return len(self.label)

    def path_of(self, position: int) -> str:
        """Return the name of a record's image in the source of the pack."""
        shard = int(self.shard[position])
        line = position - int(np.searchsorted(self.shard, shard))
        file = _list_of(self.folder, self.files[shard])
        try:
            return str(json.loads(file.read_bytes().splitlines()[line])["path"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            _differs(self.folder, f"line {line + 1} of {file.name} does not name a record")

    def place_of(self, position: int) -> str:
        """Return a record's shard and its number there, from 0."""
        shard = int(self.shard[position])
        number = position - int(np.searchsorted(self.shard, shard))
        return f"{self.files[shard]}, record {number}"


def has_index(folder: Path, manifest: Manifest) -> bool:
    """Return whether the lists of all shards are there."""
    return all(_list_of(folder, folder / shard.file).is_file() for shard in manifest.shards)


def open_index(folder: Path, manifest: Manifest) -> Index:
    """Return where the records of a pack are.

    Raises:
        PipelineError: a list does not fit its shard.
    """
    tables = [_table(folder, shard, manifest.files) for shard in manifest.shards]
    counts = [len(table) for table in tables]
    rows = np.concatenate(tables) if tables else np.empty((0, 3), np.int64)
    return Index(
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
            _differs(folder, f"the shard {shard.file} is missing")
        size = file.stat().st_size
        if size != shard.bytes:
            _differs(folder, f"{shard.file} has {size:,} bytes and should have {shard.bytes:,}")
    known = {shard.file for shard in manifest.shards}
    own = {file.name for file in Layout(folder).written() if file.suffix == ".tfrecord"}
    if extra := sorted(own - known):
        _differs(folder, f"the shard {extra[0]} is not in its manifest")


def _table(folder: Path, shard: ShardFacts, checksums: Mapping[str, int]) -> Whole:
    """Return label, offset and length of each record of a shard."""
    file = _list_of(folder, folder / shard.file)
    try:
        content = file.read_bytes()
        _compare(folder, file, content, checksums)
        rows = _fast(content) or _slow(file)
        table = np.array(rows, np.int64).reshape(-1, 3)
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        _differs(folder, f"{file.name} cannot be read as a list of records ({error})")
    ends = table[:, 1] + table[:, 2] + HEAD_BYTES + TAIL_BYTES
    begins = np.concatenate(([0], ends[:-1])) if len(table) else ends
    end = int(ends[-1]) if len(table) else 0
    if len(table) != shard.count or end != shard.bytes or np.any(begins != table[:, 1]):
        _differs(folder, f"{file.name} does not list the {shard.count:,} records of {shard.file}")
    return table


def _compare(folder: Path, file: Path, content: bytes, checksums: Mapping[str, int]) -> None:
    """Raise an error if the list is not the one that was written: labels stand in it."""
    from crc32c import crc32c

    wanted = checksums.get(file.relative_to(folder).as_posix())
    if wanted is not None and crc32c(content) != wanted:
        _differs(folder, f"{file.name} differs from its checksum")


def _fast(content: bytes) -> list[tuple[int, int, int]] | None:
    found = _NUMBERS.findall(content)
    if len(found) != content.count(b"\n"):
        return None
    return [(int(label), int(offset), int(length)) for label, offset, length in found]


def _slow(file: Path) -> list[tuple[int, int, int]]:
    lines = json_lines.read_lines(file)
    return [(int(line["label"]), int(line["offset"]), int(line["length"])) for line in lines]


def _list_of(folder: Path, shard: Path) -> Path:
    return Layout(folder).shard(shard.stem).index


def _differs(folder: Path, what: str) -> NoReturn:
    raise PipelineError(
        f"{folder}: the pack is not as it was made: {what}.\n"
        f"To see all that differs:\n    quickfit pack --verify {folder}\n"
        f"To make it again:\n    quickfit pack SRC {folder} --restart"
    )
