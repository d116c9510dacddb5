"""Verifies a pack: every byte is what was written, and its files agree."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from quickfit.data.entries import NO_LABEL
from quickfit.data.packing.manifest import (
    Manifest,
    PackLayout,
    ShardFacts,
    manifest_checksum,
    read_json,
    read_json_lines,
    read_manifest,
)
from quickfit.data.packing.report import progress_display
from quickfit.data.packing.workers import PackProgress, ProgressTicker
from quickfit.data.tfrecord import (
    BrokenExampleError,
    BrokenFrameError,
    ImageRecord,
    RecordFrame,
    file_crc32c,
    parse_example,
    read_frames,
)
from quickfit.machine import whole_cores
from quickfit.units import count, size

# A shard of nothing but faults is told with a few of them.
_MOST_FAULTS = 20


class Fault(NamedTuple):
    """Something in a pack that is not as it was written.

    Args:
        file: in the pack.
        record: its number in the shard, from 0; -1 where no record is meant.
        what: is wrong.
    """

    file: str
    record: int
    what: str

    def __str__(self) -> str:
        where = f"{self.file}, record {self.record:,}" if self.record >= 0 else self.file
        return f"{where}: {self.what}"


@dataclass(frozen=True, repr=False)
class Verified:
    """What the verification of a pack has found.

    Args:
        folder: of the pack.
        manifest: of the pack.
        faults: what is wrong; empty if the pack is whole.
    """

    folder: Path
    manifest: Manifest
    faults: tuple[Fault, ...]

    def __repr__(self) -> str:
        facts = self.manifest
        shards = f"{count(len(facts.shards))} shard{'s' if len(facts.shards) != 1 else ''}"
        what = f"{count(facts.count)} images, {size(facts.bytes)} in {shards}"
        if not self.faults:
            return f"{self.folder}: the pack is whole: {what}, all checksums agree"
        listed = "\n".join(f"  {fault}" for fault in self.faults)
        faults = "1 fault" if len(self.faults) == 1 else f"{count(len(self.faults))} faults"
        return (
            f"{self.folder}: the pack has {faults}:\n{listed}\nMake it anew from its source:\n"
            f"    quickfit pack SRC {self.folder} --restart"
        )


def verify(folder: str | os.PathLike[str], *, progress: bool = False) -> Verified:
    """Read a whole pack and compare it with its checksums, its lists and its manifest.

    Args:
        folder: of the pack.
        progress: whether to show it on stderr.

    Raises:
        PipelineError: the folder is no finished pack.
    """
    layout = PackLayout(folder)
    manifest = read_manifest(folder)
    faults = [*_manifest_faults(layout, manifest), *_file_faults(layout, manifest)]
    results = _verified_shards(layout, manifest, sys.stderr if progress else None)
    for found, _ in results:
        faults.extend(found)
    labels = sum((shard for _, shard in results), Counter[int]())
    if not faults:
        faults.extend(_count_faults(manifest, labels))
        faults.extend(_source_faults(layout, manifest))
    return Verified(layout.folder, manifest, tuple(faults))


def _verified_shards(
    layout: PackLayout, manifest: Manifest, stream: TextIO | None
) -> list[tuple[list[Fault], Counter[int]]]:
    shown = progress_display(stream, manifest.count, "verifying")
    lock = threading.Lock()

    def show(done: PackProgress) -> None:
        with lock:
            shown.show(done)

    shards = [_ShardCheck(layout, manifest, facts, show) for facts in manifest.shards]
    pool = ThreadPoolExecutor(whole_cores())
    try:
        return list(pool.map(_ShardCheck.verified, shards))
    finally:
        # On Ctrl-C the shards that nobody has begun are not read first.
        pool.shutdown(cancel_futures=True)
        shown.close()


def _manifest_faults(layout: PackLayout, manifest: Manifest) -> Iterator[Fault]:
    name = layout.manifest.name
    values = read_json(layout.manifest)
    if values.get("checksum") != manifest_checksum(values):
        yield Fault(name, -1, "its checksum differs: it has been changed")
    for total, shards in (("count", manifest.count), ("bytes", manifest.bytes)):
        if sum(getattr(shard, total) for shard in manifest.shards) != shards:
            yield Fault(name, -1, f"its {total} is not that of its shards")


def _file_faults(layout: PackLayout, manifest: Manifest) -> Iterator[Fault]:
    """Yield what is there and should not be, or should be as it was and is not."""
    shards = {shard.file for shard in manifest.shards}
    indexes = {name.partition("/")[2] for name in manifest.files if "/" in name}
    for file in layout.written():
        if file.parent == layout.folder and file.suffix == ".tfrecord" and file.name not in shards:
            yield Fault(file.name, -1, "this shard is not in the manifest; readers would take it")
        if file.parent == layout.indexes and file.name not in indexes:
            yield Fault(f"index/{file.name}", -1, "this list is not in the manifest")
    for name, crc in manifest.files.items():
        file = layout.folder / name
        if not file.is_file():
            yield Fault(name, -1, "it is missing")
            continue
        try:
            is_same = file_crc32c(file) == crc
        except OSError as error:
            yield Fault(name, -1, f"it cannot be read: {error.strerror}")
            continue
        if not is_same:
            yield Fault(name, -1, "its checksum differs")


class _ShardCheck:
    """One shard while it is verified."""

    def __init__(
        self,
        layout: PackLayout,
        manifest: Manifest,
        facts: ShardFacts,
        show: Callable[[PackProgress], None],
    ) -> None:
        self._layout = layout
        self._manifest = manifest
        self._facts = facts
        self._ticker = ProgressTicker(show)
        self._labels: Counter[int] = Counter()

    def verified(self) -> tuple[list[Fault], Counter[int]]:
        """Return what is wrong with the shard, and how many records have each label."""
        faults: list[Fault] = []
        try:
            faults.extend(islice(self._find_faults(), _MOST_FAULTS))
        except OSError as error:  # what a disk that fails says
            faults.append(Fault(self._facts.file, -1, f"it cannot be read: {error.strerror}"))
        return faults, self._labels

    def _find_faults(self) -> Iterator[Fault]:
        name = self._facts.file
        file = self._layout.folder / name
        if not file.is_file():
            yield Fault(name, -1, "it is missing")
            return
        found = file.stat().st_size
        if found != self._facts.bytes:
            yield Fault(name, -1, f"it has {found:,} bytes, and had {self._facts.bytes:,}")
        yield from self._record_faults(file, found)
        if file_crc32c(file) != self._facts.crc32c:
            yield Fault(name, -1, "its checksum differs")

    def _record_faults(self, file: Path, found: int) -> Iterator[Fault]:
        number = 0
        index = self._check_index()
        with file.open("rb") as stream:
            try:
                for frame in read_frames(stream, found):
                    yield from self._wrong_record(frame, number, next(index, None))
                    self._ticker.add(PackProgress(1, len(frame.content)))
                    number += 1
            except BrokenFrameError as error:
                yield Fault(file.name, number, f"it is broken: {error}")
                return
        if number != self._facts.count:
            yield Fault(file.name, -1, f"it has {number:,} records, and had {self._facts.count:,}")

    def _check_index(self) -> Iterator[dict[str, Any]]:  # whatever JSON holds
        file = self._layout.indexes / (Path(self._facts.file).stem + ".jsonl")
        try:
            yield from read_json_lines(file)
        except (OSError, ValueError):
            return  # its own fault is told with the checksum

    def _wrong_record(
        self, frame: RecordFrame, number: int, listed: dict[str, Any] | None
    ) -> Iterator[Fault]:
        try:
            record = parse_example(frame.content)
        except BrokenExampleError as error:
            yield Fault(self._facts.file, number, f"it is no record of a pack: {error}")
            return
        self._labels[record.label] += 1
        if listed != _listing_values(record, frame):
            yield Fault(self._facts.file, number, "the list in index/ says something else")
        for what in self._find_contradictions(record):
            yield Fault(self._facts.file, number, what)

    def _find_contradictions(self, record: ImageRecord) -> Iterator[str]:
        facts = self._manifest
        if facts.form == "original" and hashlib.sha256(record.image).digest() != record.sha256:
            yield f"the image {record.path!r} is not the one its sha256 is of"
        pixels = record.height * record.width * record.channels
        shape = (record.height, record.width, record.channels)
        if facts.form == "raw" and (shape != facts.image_shape or len(record.image) != pixels):
            yield f"the image {record.path!r} has not the size of the pack"
        is_class = 0 <= record.label < len(facts.classes)
        if facts.classes and not is_class and record.label != NO_LABEL:
            yield f"the label of {record.path!r} is {record.label}, which is no class"


def _listing_values(record: ImageRecord, frame: RecordFrame) -> dict[str, Any]:
    return {
        "path": record.path,
        "label": record.label,
        "sha256": record.sha256.hex(),
        "offset": frame.offset,
        "length": len(frame.content),
    }


def _count_faults(manifest: Manifest, labels: Counter[int]) -> Iterator[Fault]:
    for label, (name, number) in enumerate(
        zip(manifest.classes, manifest.class_counts, strict=False)
    ):
        if labels[label] != number:
            what = f"{name!r} should have {number:,} images, and has {labels[label]:,}"
            yield Fault("manifest.json", -1, what)
    if not manifest.classes and manifest.form and labels.total() != manifest.count:
        yield Fault("manifest.json", -1, "its count is not that of the records")


def _source_faults(layout: PackLayout, manifest: Manifest) -> Iterator[Fault]:
    """Yield what the source listed and is neither packed nor left out, and what is there twice."""
    if layout.sources.name not in manifest.files:
        return
    try:
        missing = Counter(_source_paths(layout.sources))
        for name in manifest.files:
            if name.startswith("index/"):
                missing.subtract(_source_paths(layout.folder / name))
        left_out = [path for path in _source_paths(layout.rejected) if missing[path] > 0]
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield Fault(layout.sources.name, -1, f"it cannot be compared: {str(error)[:200]}")
        return
    missing.subtract({path: missing[path] for path in left_out})
    for path, number in islice(((p, n) for p, n in missing.items() if n), _MOST_FAULTS):
        what = "is in no shard and was not left out" if number > 0 else "is packed too often"
        yield Fault(layout.sources.name, -1, f"{path!r} {what}")


def _source_paths(file: Path) -> Iterator[str]:
    return (values["path"] for values in read_json_lines(file))
