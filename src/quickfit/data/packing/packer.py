"""`data.pack`: images of a folder, list, table, archive or program into sharded record files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from quickfit.data.entries import Source
from quickfit.data.packing import destination
from quickfit.data.packing.destination import finish_pack
from quickfit.data.packing.iterables import is_iterable_of_images, pack_items, with_paths_listed
from quickfit.data.packing.manifest import PackLayout, shard_name, write_json_lines
from quickfit.data.packing.plan import (
    JPEG_QUALITY,
    SHARD_BYTES,
    PackPlan,
    check_settings,
    plan_pack,
)
from quickfit.data.packing.report import Packed, UnpackingProgress
from quickfit.data.packing.resume import PackTask
from quickfit.data.packing.workers import (
    ShardContext,
    ShardFailedError,
    ShardJob,
    make_shard,
    make_shards,
)
from quickfit.errors import UsageError
from quickfit.machine import whole_cores

# A process that copies reads, hashes and writes at the same time, so that another one on two cores
# gains a seventh, and takes this much to have paid for its start.
_COPY_BYTES_PER_WORKER = 1_000_000_000
# As `pixels.MAX_PIXELS`, without loading what decodes.
MAX_PIXELS = 178_956_970


def pack_source(open_source: Callable[[], Source], task: PackTask) -> Packed:
    """Pack all images of a source, or go on with it.

    Args:
        open_source: lists the images, when the folder of the pack is ours.
        task: what was asked for.

    Raises:
        PipelineError: it cannot be made; what is there is whole.
    """
    with task.open_locked() as lock:
        source = open_source()
        planned = plan_pack(source, task.settings)
        with destination.writing_errors(
            task.layout.folder, lambda: _remaining_bytes(planned, task)
        ):
            there = task.finished_before(planned.sources, planned.listing())
            if there is not None:
                return replace(there, notes=_source_notes(source))
            _begin_pack(planned, task)
            _make_shards(source, planned, task, lock)
            manifest = finish_pack(
                task.layout,
                task.settings,
                classes=source.classes,
                sources=planned.sources,
                shards=[task.layout.shard(name) for name in _shard_names(planned)],
                listing_rejected=source.rejected,
            )
    return replace(task.packed(manifest), notes=_source_notes(source))


def _source_notes(source: Source) -> tuple[str, ...]:
    """Return what a person should know of the source."""
    return tuple(getattr(source, "notes", ()))


def _begin_pack(planned: PackPlan, task: PackTask) -> None:
    layout = task.layout
    if task.settings.form != "jpeg256":  # the size of that one is a guess
        destination.check_free_space(layout.folder, _remaining_bytes(planned, task))
    write_json_lines(layout.listing, layout.aside("sources", "jsonl"), planned.listing())
    task.begin(planned.sources)


def _make_shards(source: Source, planned: PackPlan, task: PackTask, lock: int) -> None:
    # Without its list of images, where it can: workers are sent the images of their shards.
    reader = source.reader() if hasattr(source, "reader") else source
    workshop = ShardContext(task.layout, task.settings, reader)
    workers = min(task.workers or _useful_workers(planned, task), planned.shards)
    display = task.display(len(planned.entries))
    try:
        if workers == 1:
            for number in range(planned.shards):
                # No name for the job: it would keep its images while the next one is listed.
                make_shard(_shard_job(planned, number), workshop, display.show)
        else:
            jobs = (_shard_job(planned, number) for number in range(planned.shards))
            make_shards(jobs, workshop, count=workers, lock=lock, show=display.show)
    except ShardFailedError as error:
        folder, still = task.layout.folder, _remaining_bytes(planned, task)
        raise destination.worker_failure(folder, error.failed, still) from error
    finally:
        display.close()


def _useful_workers(planned: PackPlan, task: PackTask) -> int:
    if task.settings.check == "quick":
        # Copying is over before another process has started.
        return min(whole_cores(), max(1, planned.bytes // _COPY_BYTES_PER_WORKER))
    return whole_cores()


def _shard_names(planned: PackPlan) -> list[str]:
    return [shard_name(number, planned.shards) for number in range(planned.shards)]


def _shard_job(planned: PackPlan, number: int) -> ShardJob:
    return ShardJob(shard_name(number, planned.shards), planned.shard(number))


def _remaining_bytes(planned: PackPlan, task: PackTask) -> int:
    """Return about how many bytes are still to be written."""
    missing = [name for name in _shard_names(planned) if not task.layout.shard(name).note.exists()]
    return planned.bytes * len(missing) // planned.shards


def pack(
    source: Any,  # whatever holds images, see below
    destination: str | os.PathLike[str],
    *,
    form: str = "original",
    size: int | str | tuple[int, int] | None = None,
    quality: int = JPEG_QUALITY,
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
    chosen = check_settings(
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
    layout = PackLayout(destination)
    _check_apart(source, layout)
    task = PackTask(layout, chosen, workers, restarts=restart, shows_progress=progress)
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
        return pack_source(
            lambda: sources.open_source(_unpack_archive(source, task), **options), task
        )
    # Before the folder is made: a name that is misspelt leaves nothing behind.
    listed = sources.open_source(source, **options)
    return pack_source(lambda: listed, task)


def _is_compressed(source: Any) -> bool:
    from quickfit.data.sources.tar_archives import archive_compression

    is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    return is_file and archive_compression(os.fsdecode(source)) is not None


def _unpack_archive(source: Any, task: PackTask) -> object:
    """Return the archive as one whose images can be read one by one."""
    from quickfit.data import sources

    shown = UnpackingProgress(sys.stderr if task.shows_progress else None)
    return sources.unpack_archive(source, task.layout.unpacked, shown.show)


def _check_workers(workers: int | None) -> None:
    if workers is None:
        return
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 1024:
        raise UsageError(f"pack: workers is {workers!r}, and must be from 1 to 1,024.")


def _check_apart(source: Any, layout: PackLayout) -> None:
    """See that the pack does not become a part of its own source."""
    if not isinstance(source, str | os.PathLike) or not os.path.isdir(source):
        return
    folder, inside = Path(source).resolve(), layout.folder.resolve()
    if inside == folder or folder in inside.parents:
        raise UsageError(
            f"{layout.folder}: the pack would lie in its own source, {source}.\n"
            f"Name a folder beside it:\n    quickfit pack {source} {folder}-pack"
        )
