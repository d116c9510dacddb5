"""Where the files of a pack are, and which files in a folder are a pack's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
REJECTED = "rejected.jsonl"
SOURCES = "sources.jsonl"
INDEX = "index"
PARTIAL = ".partial"
_SHARD = re.compile(r"data-\d{5,}-of-\d{5,}\.tfrecord")
_INDEX = re.compile(r"data-\d{5,}-of-\d{5,}\.jsonl")
_PARTIAL = re.compile(
    r"plan\.json|sources\.jsonl|data-\d{5,}(-of-\d{5,})?\.(tfrecord|jsonl|json)|.*\.writing"
)


def shard_name(number: int, total: int) -> str:
    """Return what a shard and its index are called, without the ending."""
    return f"data-{number:05d}-of-{total:05d}"


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """The files of one shard: its records, their list, and the note of what both must be."""

    name: str
    records: Path
    index: Path
    note: Path

    def rename(self, others: ShardFiles) -> None:
        """Give the files other names; the note last."""
        self.index.replace(others.index)
        self.records.replace(others.records)
        self.note.replace(others.note)


class Layout:
    """The paths of a pack.

    What is made is written to `.partial` and renamed when it is whole. There are also the plan
    and, for each shard that is in place, a note of what it must be.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.manifest = self.folder / MANIFEST
        self.rejected = self.folder / REJECTED
        self.sources = self.folder / SOURCES
        self.indexes = self.folder / INDEX
        self.partial = self.folder / PARTIAL
        self.plan = self.partial / "plan.json"
        self.listing = self.partial / SOURCES
        self.unpacked = self.partial / "unpacked"

    def shard(self, name: str) -> ShardFiles:
        """Return the files of a shard in place."""
        return ShardFiles(
            name,
            self.folder / f"{name}.tfrecord",
            self.indexes / f"{name}.jsonl",
            self.partial / f"{name}.json",
        )

    def staged(self, number: int) -> ShardFiles:
        """Return the files of a whole shard that gets its name when all shards are there."""
        name = f"data-{number:05d}"
        return ShardFiles(
            name,
            self.partial / f"{name}.tfrecord",
            self.partial / f"{name}.jsonl",
            self.partial / f"{name}.json",
        )

    def aside(self, name: str, ending: str) -> Path:
        """Return where this process writes a file until it is whole."""
        return self.partial / f"{name}.{ending}.{os.getpid()}.writing"

    def written(self) -> Iterator[Path]:
        """Yield all files in the folder that a pack has written, the manifest first."""
        yield from (file for file in (self.manifest, self.rejected, self.sources) if file.exists())
        for folder, names in ((self.folder, _SHARD), (self.indexes, _INDEX)):
            if folder.is_dir():
                yield from (file for file in sorted(folder.iterdir()) if names.fullmatch(file.name))
        yield from self.partials()

    def partials(self) -> Iterator[Path]:
        """Yield the files that only an unfinished pack needs."""
        if self.partial.is_dir():
            files = (file for file in self.partial.iterdir() if not file.is_dir())
            yield from sorted(file for file in files if _PARTIAL.fullmatch(file.name))

    def unfinished(self) -> list[Path]:
        """Return the files that were being written when a pack ended."""
        return [file for file in self.partials() if file.name.endswith(".writing")]

    def has_lists(self) -> bool:
        """Return whether there are lists of shards, which nothing but a pack has."""
        return self.indexes.is_dir() and any(map(_INDEX.fullmatch, os.listdir(self.indexes)))

    def others(self) -> list[str]:
        """Return what is in the folder beside what a pack that has just begun makes there."""
        return sorted(name for name in os.listdir(self.folder) if not self._is_begun(name))

    def _is_begun(self, name: str) -> bool:
        folder = self.folder / name
        if name not in (INDEX, PARTIAL) or not folder.is_dir():
            return False
        inside = set(os.listdir(folder))
        if name == INDEX:
            return not inside
        return inside <= {self.unpacked.name, *(file.name for file in self.partials())}
