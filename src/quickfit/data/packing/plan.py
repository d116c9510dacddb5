"""Which image goes into which shard: a pure function of the source and the settings."""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from quickfit.data.entries import Entry, Source
from quickfit.data.packing import json_lines
from quickfit.data.packing.example import path_bytes
from quickfit.data.packing.settings import Settings

# The fields beside the image, and its path.
_RECORD_BYTES = 250
# A JPEG of quality 90 with halved colour has about this much per pixel.
_JPEG_BYTES_PER_PIXEL = 0.33
# Most photographs are 4:3.
_LONG_TO_SHORT = 4 / 3
# From here on two processes, and a reader that interleaves files, gain from several shards.
_SEVERAL_FROM_BYTES = 32_000_000
_LEAST_SEVERAL = 4


class Plan(NamedTuple):
    """What is packed, and how it is cut.

    Args:
        entries: the images of the source.
        order: their positions in the order of the pack.
        by_name: their positions sorted by name.
        shards: how many there are.
        bytes: about how large all shards are together.
        sources: what identifies the source: its names, labels and sizes; not where it is.
    """

    entries: Sequence[Entry]
    order: array[int]
    by_name: array[int]
    shards: int
    bytes: int
    sources: dict[str, Any]  # whatever JSON holds

    def shard(self, number: int) -> list[Entry]:
        """Return the images of a shard; shards differ by one image at most."""
        first, last = (len(self.order) * cut // self.shards for cut in (number, number + 1))
        return [self.entries[position] for position in self.order[first:last]]

    def listing(self) -> Iterator[dict[str, Any]]:
        """Yield what the source lists, sorted by name."""
        for position in self.by_name:
            entry = self.entries[position]
            yield {"path": entry.name, "label": entry.label, "bytes": entry.size}


class _Columns:
    """The entries of a source as columns: an entry is made anew each time it is asked for."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.names: list[bytes] = []
        self.labels, self.sizes = array("q"), array("q")
        for entry in entries:
            self.names.append(path_bytes(entry.name))
            self.labels.append(entry.label)
            self.sizes.append(entry.size)

    def by_name(self) -> array[int]:
        # One name may be listed twice, with two labels: the rest decides, never the given order.
        keys = list(zip(self.names, self.labels, self.sizes, strict=True))
        return array("q", sorted(range(len(keys)), key=keys.__getitem__))

    def mixed(self, by_name: array[int], seed: int) -> array[int]:
        """Return the order of the pack: by a hash of each name, so every shard has all classes.

        A hash rather than a shuffle: no random generator's version changes it.
        """
        key = str(seed).encode()
        blake2b = hashlib.blake2b
        ranks = [blake2b(name, digest_size=8, key=key).digest() for name in self.names]
        return array("q", sorted(by_name, key=ranks.__getitem__))

    def sha256(self, by_name: array[int], classes: Sequence[str]) -> str:
        digest = hashlib.sha256(json_lines.line({"classes": classes}).encode())
        pack = struct.Struct("<qqq").pack
        for position in by_name:
            name = self.names[position]
            digest.update(pack(len(name), self.labels[position], self.sizes[position]) + name)
        return digest.hexdigest()


def plan(source: Source, settings: Settings) -> Plan:
    """Return how a source is cut into shards."""
    columns = _Columns(source.entries)
    by_name = columns.by_name()
    total, listed = estimated_bytes(columns.sizes, settings), sum(columns.sizes)
    shards = min(shard_count(total, listed, settings.shard_bytes), max(len(by_name), 1))
    sources = {
        "kind": "listed",
        "count": len(by_name),
        "bytes": listed,
        "sha256": columns.sha256(by_name, source.classes),
    }
    order = columns.mixed(by_name, settings.seed)
    return Plan(source.entries, order, by_name, shards, total, sources)


def shard_count(total_bytes: int, source_bytes: int, shard_bytes: int) -> int:
    """Return how many shards hold this much."""
    count = max(1, -(-total_bytes // shard_bytes))
    if source_bytes > _SEVERAL_FROM_BYTES:
        count = max(count, _LEAST_SEVERAL)
    # Two processes share an even number evenly; among many shards it does not matter.
    return count + count % 2 if 1 < count < 16 else count


def estimated_bytes(sizes: Sequence[int], settings: Settings) -> int:
    """Return about how large the pack is; exact to a few per cent but for jpeg256."""
    around = _RECORD_BYTES * len(sizes)
    if settings.form == "original" or settings.size is None:
        return around + sum(sizes)
    height, width = settings.size
    if settings.form == "raw":
        return around + len(sizes) * height * width * 3
    most = int(height * height * _LONG_TO_SHORT * _JPEG_BYTES_PER_PIXEL)
    return around + sum(min(size, most) for size in sizes)
