"""Ends a pack: what was left out, the manifest, and all of it on the disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from quickfit.data.entries import Rejection
from quickfit.data.packing import destination, framing, json_lines
from quickfit.data.packing.example import FEATURES, path_bytes
from quickfit.data.packing.layout import Layout, ShardFiles
from quickfit.data.packing.manifest import Manifest, ShardFacts
from quickfit.data.packing.settings import Settings
from quickfit.data.packing.shard import Note
from quickfit.errors import PipelineError
from quickfit.units import count

_MOST_SHOWN = 3


def finish(
    layout: Layout,
    settings: Settings,
    *,
    classes: Sequence[str],
    sources: dict[str, Any],  # whatever JSON holds
    shards: Sequence[ShardFiles],
    listing_rejected: Iterable[Rejection],
) -> Manifest:
    """Write what ends a pack, the manifest last, and return it.

    Raises:
        PipelineError: nothing could be packed.
    """
    notes = [Note(**json_lines.read(files.note)) for files in shards]
    rejected = _rejected(notes, listing_rejected)
    if not any(note.count for note in notes):
        _give_up(layout, rejected)
    json_lines.write_lines(layout.rejected, layout.aside("rejected", "jsonl"), rejected)
    if layout.listing.exists():
        layout.listing.replace(layout.sources)
    labels = sum((Counter(note.labels) for note in notes), Counter[str]())
    manifest = Manifest(
        form=settings.form,
        settings=settings.as_json(),
        count=sum(note.count for note in notes),
        bytes=sum(note.bytes for note in notes),
        classes=tuple(classes),
        class_counts=tuple(labels[str(label)] for label in range(len(classes))),
        rejected=len(rejected),
        shards=tuple(
            ShardFacts(files.records.name, note.count, note.bytes, note.crc32c)
            for files, note in zip(shards, notes, strict=True)
        ),
        features=dict(FEATURES),
        image_shape=settings.image_shape,
        sources=sources,
        files=_checksums(layout, shards),
    )
    _to_disk(layout, shards)
    json_lines.write(layout.manifest, layout.aside("manifest", "json"), manifest.as_json())
    _sync(layout.manifest)
    _sync(layout.folder)
    destination.close(layout)
    return manifest


def _rejected(notes: Iterable[Note], listing: Iterable[Rejection]) -> list[dict[str, Any]]:
    listed = [{"path": r.name, "reason": r.reason, "detail": r.detail} for r in listing]
    found = [
        {name: value for name, value in values.items() if name != "position"}
        for note in notes
        for values in note.rejected
    ]
    return sorted(listed + found, key=lambda r: (path_bytes(r["path"]), r["reason"], r["detail"]))


def _give_up(layout: Layout, rejected: list[dict[str, Any]]) -> None:
    """Leave the reasons and nothing else."""
    destination.clear(layout)
    layout.rejected.write_text("".join(map(json_lines.line, rejected)), encoding="ascii")
    if not rejected:
        raise PipelineError(f"{layout.folder}: nothing was packed: the iterable gave no images.")
    some = "".join(f"\n  {r['path']!r}: {r['detail']}" for r in rejected[:_MOST_SHOWN])
    raise PipelineError(
        f"{layout.folder}: nothing was packed: all {count(len(rejected))} images were left out "
        f"({reasons(rejected)}).{some}\nAll of them are in {layout.rejected}."
    )


def reasons(rejected: Iterable[dict[str, Any]]) -> str:
    """Return how many were left out for each reason: `2 truncated, 1 not an image`."""
    counted = Counter(_reason(values) for values in rejected)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count(number)} {reason}" for reason, number in ranked)


def _reason(values: dict[str, Any]) -> str:
    # Of a list, a path that never was there did not vanish.
    if values["detail"] == "it does not exist":
        return "not there"
    return str(values["reason"]).replace("-", " ")


def _checksums(layout: Layout, shards: Sequence[ShardFiles]) -> dict[str, int]:
    files = [layout.rejected, *(files.index for files in shards)]
    if layout.sources.exists():
        files.append(layout.sources)
    return {file.relative_to(layout.folder).as_posix(): _crc32c(file) for file in sorted(files)}


def _crc32c(file: Path) -> int:
    with file.open("rb") as stream:
        return framing.file_crc32c(stream)


def _to_disk(layout: Layout, shards: Sequence[ShardFiles]) -> None:
    """Wait until all shards are on the disk: a manifest that survives a power cut tells the truth.

    Once for all of them at the end, when most of it is there: each would make a worker wait.
    """
    for files in shards:
        _sync(files.records)
        _sync(files.index)
    for file in (layout.rejected, layout.indexes, layout.folder):
        _sync(file)


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
