"""`data.pack`: images of a folder, list, table, archive or program into sharded record files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from quickfit.data.packing.iterables import is_iterable_of_images, pack_items, with_paths_listed
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.listed import pack_source
from quickfit.data.packing.packed import Packed
from quickfit.data.packing.progress import Unpacking
from quickfit.data.packing.settings import QUALITY, SHARD_BYTES, settings
from quickfit.data.packing.task import Task
from quickfit.errors import UsageError

# As `pixels.MAX_PIXELS`, without loading what decodes.
MAX_PIXELS = 178_956_970


def pack(
    source: Any,  # whatever holds images, see below
    destination: str | os.PathLike[str],
    *,
    form: str = "original",
    size: int | str | tuple[int, int] | None = None,
    quality: int = QUALITY,
    workers: int | None = None,
    seed: int = 0,
    shard_bytes: int = SHARD_BYTES,
    labels: Any = None,
    path_column: str | None = None,
    label_column: str | None = None,
    root: str | os.PathLike[str] | None = None,
    follow_links: bool = True,
    keep_odd_names: bool = False,
    check: str = "quick",
    max_pixels: int = MAX_PIXELS,
    restart: bool = False,
    progress: bool = True,
) -> Packed:
    """Pack images into sharded TFRecord files, with their labels, and return what is in them.

    A pack that was interrupted goes on when it is asked for again in the same way. Images that
    cannot be used are left out and listed in `rejected.jsonl` with the reason.

    Args:
        source: a folder (its folders are the classes), a zip or tar archive, a CSV or TSV file, a
            text file of paths, a sequence or iterator of paths, a DataFrame; or any iterable of
            `(image, label)` or `(image, label, name)`, or dictionaries of these, where an image
            is the bytes of a file, a uint8 array, a PIL image or a path; or of images alone, other
            than paths. An iterable is packed in its order and in this process; to go on it is run
            through again.
        destination: the folder of the pack; made if it is not there.
        form: `original` (files as they are), `jpeg256` (upright RGB JPEGs with a short side of at
            most 256) or `raw` (uint8 pixels of one size, 224×224).
        size: another short side for jpeg256; another size for raw: 224, "224x320" or (224, 320),
            height first.
        quality: of the JPEGs of jpeg256, 1 to 100.
        workers: processes that work; if not given, as many as help, at most one for each core.
            1 works in this process.
        seed: another one gives another order.
        shard_bytes: about how large a shard is.
        labels: of a sequence of paths, one each; of an iterable whose labels are names, the
            names in the order of their numbers.
        path_column: of a table.
        label_column: of a table.
        root: the folder that paths of a list or table start from.
        follow_links: whether links to folders are followed.
        keep_odd_names: whether names with line breaks or without UTF-8 are packed too.
        check: `full` decodes every original as well.
        max_pixels: images with more are left out.
        restart: begin anew if there is a pack that was begun otherwise, or is finished.
        progress: whether to show it on stderr.

    Raises:
        UsageError: an argument cannot be, or the folder is not one for a pack.
        PipelineError: the pack cannot be made, or what is there was begun otherwise. What has
            been packed is whole, and is kept.
    """
    chosen = settings(
        form,
        size=size,
        quality=quality,
        seed=seed,
        shard_bytes=shard_bytes,
        check=check,
        max_pixels=max_pixels,
    )
    _check_workers(workers)
    if not os.fspath(destination):
        raise UsageError(
            "pack: the name of the pack's folder is empty.\nName it:\n    quickfit pack SRC PACK"
        )
    layout = Layout(destination)
    _check_apart(source, layout)
    task = Task(layout, chosen, workers, restarts=restart, shows_progress=progress)
    source = with_paths_listed(source)
    if is_iterable_of_images(source):
        return pack_items(source, labels, task)
    if hasattr(source, "entries"):
        return pack_source(lambda: source, task)
    from quickfit.data import sources

    options = {
        "labels": labels,
        "path_column": path_column,
        "label_column": label_column,
        "root": root,
        "follow_links": follow_links,
        "keep_odd_names": keep_odd_names,
    }
    if _is_compressed(source):
        return pack_source(lambda: sources.open(_unpacked(source, task), **options), task)
    # Before the folder is made: a name that is misspelt leaves nothing behind.
    listed = sources.open(source, **options)
    return pack_source(lambda: listed, task)


def _is_compressed(source: Any) -> bool:
    from quickfit.data.sources.unpacking import compression_of

    is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    return is_file and compression_of(os.fsdecode(source)) is not None


def _unpacked(source: Any, task: Task) -> object:
    """Return the archive as one whose images can be read one by one."""
    from quickfit.data import sources

    shown = Unpacking(sys.stderr if task.shows_progress else None)
    return sources.unpacked(source, task.layout.unpacked, shown.heed)


def _check_workers(workers: int | None) -> None:
    if workers is None:
        return
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 1024:
        raise UsageError(f"pack: workers is {workers!r}, and must be from 1 to 1,024.")


def _check_apart(source: Any, layout: Layout) -> None:
    """See that the pack does not become a part of its own source."""
    if not isinstance(source, str | os.PathLike) or not os.path.isdir(source):
        return
    folder, inside = Path(source).resolve(), layout.folder.resolve()
    if inside == folder or folder in inside.parents:
        raise UsageError(
            f"{layout.folder}: the pack would lie in its own source, {source}.\n"
            f"Name a folder beside it:\n    quickfit pack {source} {folder}-pack"
        )
