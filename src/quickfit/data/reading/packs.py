"""The records of a pack as batches of images and labels."""

from __future__ import annotations

import os
from pathlib import Path

from quickfit import units
from quickfit.data.graph import Dataset
from quickfit.data.packing.manifest import Manifest, read_manifest
from quickfit.data.reading.described import described, elements, with_length
from quickfit.data.reading.ending import ended, steps
from quickfit.data.reading.finishing import finished
from quickfit.data.reading.indexed import Opened, opened
from quickfit.data.reading.options import Options
from quickfit.data.reading.pack_index import check_shards, has_index, open_index
from quickfit.data.reading.streamed_packs import opened_as_stream
from quickfit.errors import PipelineError

# More do not fit on a line.
_SHOWN_CLASSES = 6


def whole_pack(folder: Path) -> Manifest:
    """Return the manifest of a pack whose shards are all there.

    Raises:
        PipelineError: the pack is not whole, or empty.
    """
    manifest = read_manifest(folder)
    check_shards(folder, manifest)
    if not manifest.count:
        raise PipelineError(
            f"{folder}: the pack holds no images.\nMake another: quickfit pack SRC DST"
        )
    return manifest


def is_random_access(folder: Path, manifest: Manifest) -> bool:
    """Return whether records can be read at any place: Windows has no call for it."""
    return hasattr(os, "preadv") and has_index(folder, manifest)


def pack_dataset(folder: Path, manifest: Manifest, options: Options) -> Dataset:
    """Return the dataset of a pack.

    Raises:
        PipelineError: its lists do not fit its shards.
    """
    if is_random_access(folder, manifest):
        pack = opened(open_index(folder, manifest), manifest, options)
    else:
        pack = opened_as_stream(folder, manifest, options)
    is_labelled = any(manifest.class_counts)
    dataset = finished(
        pack.dataset, options, classes=len(manifest.classes), is_labelled=is_labelled
    )
    count = None if options.skips else pack.count
    dataset = ended(dataset, count, options, has_files=pack.has_files)
    if options.skips and not (options.repeat or options.drop_remainder):
        with_length(dataset, steps(pack.count, options))
    return described(
        dataset,
        _text(dataset, manifest, pack, options),
        class_names=list(manifest.classes),
        class_counts=list(manifest.class_counts),
        bad_records=pack.faults.found,
    )


def _text(dataset: Dataset, manifest: Manifest, pack: Opened, options: Options) -> str:
    index, workers = options.shard
    part = f"worker {index} of {workers}: " if workers > 1 else ""
    stored = f"{units.size(manifest.bytes)} in {manifest.form} form"
    augmented = ("augmented",) if options.augment else ()
    steps = ", ".join((*pack.notes, *augmented))
    return (
        f"<records: {part}{pack.count:,} images{_classes(manifest)}, {stored} "
        f"→ {elements(dataset)}, {steps}>"
    )


def _classes(manifest: Manifest) -> str:
    if not any(manifest.class_counts):
        return " without labels"
    pairs = list(zip(manifest.classes, manifest.class_counts, strict=True))
    shown = ", ".join(f"{name} {count:,}" for name, count in pairs[:_SHOWN_CLASSES])
    more = ", …" if len(pairs) > _SHOWN_CLASSES else ""
    plural = "class" if len(pairs) == 1 else "classes"
    return f" in {len(pairs):,} {plural} ({shown}{more})"
