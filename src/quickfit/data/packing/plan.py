"""The settings of a pack, and which image goes into which shard."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from quickfit.data.entries import Entry, Source
from quickfit.data.packing.manifest import json_line
from quickfit.data.tfrecord import path_bytes
from quickfit.errors import UsageError

PACK_FORMS = ("original", "jpeg256", "raw")
JPEG_SHORT_SIDE = 256
RAW_SIDE = 224
JPEG_QUALITY = 90
# Large enough to be read in one sweep, small enough that losing one costs little.
SHARD_BYTES = 128_000_000
_LEAST_SHARD_BYTES = 10_000
# What JPEG itself can hold.
_LONGEST_SIDE = 65_500
# The fields beside the image, and its path.
_RECORD_BYTES = 250
# A JPEG of quality 90 with halved colour has about this much per pixel.
_JPEG_BYTES_PER_PIXEL = 0.33
# Most photographs are 4:3.
_LONG_TO_SHORT = 4 / 3
# From here on two processes, and a reader that interleaves files, gain from several shards.
_SEVERAL_FROM_BYTES = 32_000_000
_LEAST_SEVERAL = 4


@dataclasses.dataclass(frozen=True, slots=True)
class PackSettings:
    """How images are stored.

    Args:
        form: `original` (files as they are), `jpeg256` (smaller JPEGs) or `raw` (pixels).
        size: height and width of raw pixels; twice the short side of a jpeg256; None of originals.
        quality: of the JPEGs of jpeg256; None otherwise.
        seed: of the order.
        shard_bytes: about how large a shard is.
        check: `quick`, or `full` where every original was decoded too.
        max_pixels: images with more are left out.
    """

    form: str
    size: tuple[int, int] | None
    quality: int | None
    seed: int
    shard_bytes: int
    check: str
    max_pixels: int

    def as_json(self) -> dict[str, Any]:  # whatever JSON holds
        """Return the settings for a manifest."""
        return dataclasses.asdict(self) | {"size": self._size_text()}

    def _size_text(self) -> int | str | None:
        if self.size is None or self.form == "jpeg256":
            return self.size[0] if self.size else None
        return f"{self.size[0]}x{self.size[1]}"

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """The shape of every image, where all have the same."""
        return (*self.size, 3) if self.form == "raw" and self.size else None


def check_settings(
    form: str,
    *,
    size: int | str | tuple[int, int] | None,
    quality: int,
    seed: int,
    shard_bytes: int,
    check: str,
    max_pixels: int,
) -> PackSettings:
    """Return the settings that were asked for.

    Raises:
        UsageError: a value cannot be, or two do not go together.
    """
    if form not in PACK_FORMS:
        raise UsageError(f"pack: there is no form {form!r}. Forms: {', '.join(PACK_FORMS)}.")
    if check not in ("quick", "full"):
        raise UsageError(f"pack: check is {check!r}, and can be 'quick' or 'full'.")
    if quality != JPEG_QUALITY and form != "jpeg256":
        raise UsageError(f"pack: quality {quality!r} is for the form jpeg256; this is {form}.")
    return PackSettings(
        form=form,
        size=_check_size(form, size),
        quality=_check_whole("quality", quality, 1, 100) if form == "jpeg256" else None,
        seed=_check_whole("seed", seed, -(2**63), 2**63),
        shard_bytes=_check_whole("shard_bytes", shard_bytes, _LEAST_SHARD_BYTES, 10**12),
        # The other forms decode every image anyway.
        check=check if form == "original" else "full",
        max_pixels=_check_whole("max_pixels", max_pixels, 1, 2**40),
    )


def _check_size(form: str, size: int | str | tuple[int, int] | None) -> tuple[int, int] | None:
    if form == "original":
        if size is not None:
            raise UsageError(
                f"pack: size {size!r} was given, but the form original keeps images as they are.\n"
                "Choose another form:\n    quickfit pack SRC DST --as jpeg256 --size 320"
            )
        return None
    default = JPEG_SHORT_SIDE if form == "jpeg256" else RAW_SIDE
    height, width = _parse_sides(default if size is None else size)
    if form == "jpeg256" and height != width:
        raise UsageError(
            f"pack: size {size!r} has two sides, but jpeg256 keeps the shape of each image.\n"
            "Give the short side alone: --size 256"
        )
    return height, width


def _parse_sides(size: int | str | tuple[int, int]) -> tuple[int, int]:
    """Return height and width of 224, "224", "224x320" or (224, 320)."""
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+)(?:\s*[x×,]\s*(\d+))?\s*", size)
        if found is None:
            raise UsageError(
                f"pack: size {size!r} is no size. Write 224, or 224x320 (height first)."
            )
        size = (int(found[1]), int(found[2] or found[1]))
    sides = tuple(size) if isinstance(size, list | tuple) else (size, size)
    if len(sides) != 2:
        raise UsageError(f"pack: size {size!r} has {len(sides)} sides. Give height and width.")
    return _check_whole("size", sides[0], 1, _LONGEST_SIDE), _check_whole(
        "size", sides[1], 1, _LONGEST_SIDE
    )


def _check_whole(name: str, value: object, least: int, most: int) -> int:
    try:
        whole = value.__index__()  # type: ignore[attr-defined]
    except AttributeError:
        whole = None
    if whole is None or isinstance(value, bool) or not least <= whole <= most:
        raise UsageError(f"pack: {name} is {value!r}, and must be from {least:,} to {most:,}.")
    return int(whole)


class PackPlan(NamedTuple):
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
        digest = hashlib.sha256(json_line({"classes": classes}).encode())
        pack = struct.Struct("<qqq").pack
        for position in by_name:
            name = self.names[position]
            digest.update(pack(len(name), self.labels[position], self.sizes[position]) + name)
        return digest.hexdigest()


def plan_pack(source: Source, settings: PackSettings) -> PackPlan:
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
    return PackPlan(source.entries, order, by_name, shards, total, sources)


def shard_count(total_bytes: int, source_bytes: int, shard_bytes: int) -> int:
    """Return how many shards hold this much."""
    count = max(1, -(-total_bytes // shard_bytes))
    if source_bytes > _SEVERAL_FROM_BYTES:
        count = max(count, _LEAST_SEVERAL)
    # Two processes share an even number evenly; among many shards it does not matter.
    return count + count % 2 if 1 < count < 16 else count


def estimated_bytes(sizes: Sequence[int], settings: PackSettings) -> int:
    """Return about how large the pack is; exact to a few per cent but for jpeg256."""
    around = _RECORD_BYTES * len(sizes)
    if settings.form == "original" or settings.size is None:
        return around + sum(sizes)
    height, width = settings.size
    if settings.form == "raw":
        return around + len(sizes) * height * width * 3
    most = int(height * height * _LONG_TO_SHORT * _JPEG_BYTES_PER_PIXEL)
    return around + sum(min(size, most) for size in sizes)
