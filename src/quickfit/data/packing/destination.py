"""The folder of a pack: prepared, locked, checked for room and finished."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quickfit.data.entries import Rejection
from quickfit.data.packing.manifest import (
    MANIFEST_KIND,
    Manifest,
    PackLayout,
    ShardFacts,
    ShardFiles,
    json_line,
    read_json,
    read_json_lines,
    write_json,
    write_json_lines,
)
from quickfit.data.packing.plan import PackSettings
from quickfit.data.packing.shards import ShardNote
from quickfit.data.packing.workers import ShardFailure
from quickfit.data.tfrecord import FEATURES, file_crc32c, path_bytes
from quickfit.errors import PipelineError, UsageError
from quickfit.units import count, size

# Workers of a pack that was killed notice it at their next sign of life.
_LOCK_WAIT_S = 10.0
_LOCK_RETRY_S = 0.05
_MOST_NAMES = 3
_FULL_DISK = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota of the disk is used up"}
RESUME_HINT = "Run the same command again; it goes on where it stopped."
_MOST_SHOWN = 3


def prepare_folder(layout: PackLayout) -> None:
    """Make the folder if it is not there.

    Raises:
        UsageError: it has other things in it, or cannot be made.
    """
    try:
        layout.folder.mkdir(parents=True, exist_ok=True)
        others = layout.others()
    except OSError as error:
        raise UsageError(
            f"{layout.folder}: the pack cannot be written there: {error.strerror}.\n"
            "Name a folder that can be made or is empty."
        ) from error
    if others and not is_pack_folder(layout):
        some = ", ".join(others[:_MOST_NAMES]) + (", …" if len(others) > _MOST_NAMES else "")
        raise UsageError(
            f"{layout.folder}: this folder has other things in it ({some}) and is no pack.\n"
            f"Name a new folder:\n    quickfit pack SRC {layout.folder / 'pack'}"
        )


def is_pack_folder(layout: PackLayout) -> bool:
    """Return whether a pack is in the folder: finished, begun, or one that came to nothing."""
    if layout.plan.exists() or layout.has_lists():
        return True  # whatever the manifest says: it may be damaged
    try:
        return read_json(layout.manifest).get("kind") == MANIFEST_KIND
    except (OSError, ValueError):
        return _is_failed_start(layout)


def _is_failed_start(layout: PackLayout) -> bool:
    if set(os.listdir(layout.folder)) - {layout.partial.name} != {layout.rejected.name}:
        return False
    try:
        first = next(read_json_lines(layout.rejected), {})
    except (OSError, ValueError):
        return False
    return set(first) == {"path", "reason", "detail"}


@contextmanager
def lock_folder(layout: PackLayout, tell: Callable[[str], None]) -> Iterator[int]:
    """Hold the folder against other packs; yield the descriptor that workers inherit.

    A lock belongs to all who hold the descriptor: workers that outlive a killed pack for a
    moment keep it, and the next pack waits for them.

    Args:
        layout: of the pack.
        tell: is told that another pack is waited for.

    Raises:
        PipelineError: another pack writes here.
    """
    descriptor = os.open(layout.folder, os.O_RDONLY)
    try:
        _wait_for_lock(descriptor, layout, tell)
        yield descriptor
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, layout: PackLayout, tell: Callable[[str], None]) -> None:
    import fcntl

    is_told = False
    end_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > end_s:
                raise PipelineError(
                    f"{layout.folder}: another quickfit pack is writing to this folder.\n"
                    "Wait until it has ended, or name another folder."
                ) from error
            if not is_told:
                tell(
                    "waiting for another quickfit pack that writes to this folder "
                    f"(up to {_LOCK_WAIT_S:.0f} s)"
                )
                is_told = True
            time.sleep(_LOCK_RETRY_S)
        except OSError:
            return None  # a network file system without locks: files are renamed when whole


def clear_folder(layout: PackLayout) -> None:
    """Remove all that a pack has written, and nothing else.

    The plan goes last: if this is interrupted, the rest is still known for a pack's.
    """
    if is_pack_folder(layout):
        layout.partial.mkdir(exist_ok=True)
        write_json(layout.plan, layout.aside("plan", "json"), {"kind": f"{MANIFEST_KIND} plan"})
    for file in layout.written():
        if file != layout.plan:
            file.unlink(missing_ok=True)
    _remove_empty_folder(layout.indexes)
    drop_unfinished_files(layout)


def drop_empty_folder(layout: PackLayout) -> None:
    """Remove the folders of a pack that wrote nothing to them."""
    _remove_empty_folder(layout.partial)
    if not layout.partial.exists():
        _remove_empty_folder(layout.indexes)


def _remove_empty_folder(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # not there, or someone else's file is in it


def drop_partial_files(layout: PackLayout) -> None:
    """Remove what was being written."""
    for file in layout.unfinished_files():
        file.unlink(missing_ok=True)


def drop_unfinished_files(layout: PackLayout) -> None:
    """Remove what only an unfinished pack needs."""
    for file in layout.partial_files():
        file.unlink(missing_ok=True)
    shutil.rmtree(layout.unpacked, ignore_errors=True)
    _remove_empty_folder(layout.partial)


def unwritten_text(folder: Path, error: OSError, still_bytes: int) -> PipelineError:
    """Return what to tell when a file of a pack cannot be written.

    Args:
        folder: of the pack.
        error: of the operating system.
        still_bytes: about how much is still to be written.
    """
    number = error.errno or 0
    if number == errno.ENOSPC and _has_no_inodes(folder):
        what = "the disk can hold no more files: its inodes are used up, whatever room is free"
        remedy = (
            f"Delete files that are not needed, or name a folder on another disk. {RESUME_HINT}"
        )
    elif number in _FULL_DISK:
        what = (
            f"{_FULL_DISK[number]}: about {size(still_bytes)} are still to be written, "
            f"{_format_free(folder)}"
        )
        remedy = f"Make room for it. {RESUME_HINT}"
    elif number == errno.EFBIG:
        what = "a shard is larger than the file system or `ulimit -f` allows"
        remedy = f"Make smaller shards:\n    quickfit pack SRC {folder} --restart --shard-mb 64"
    else:
        reason = error.strerror or str(error)
        place = Path(str(error.filename)).name if error.filename else folder.name
        what = f"the pack cannot be written: {reason} ({place})"
        remedy = f"Make the folder writable. {RESUME_HINT}"
    return PipelineError(f"{folder}: {what}.\nAll shards that are there are whole. {remedy}")


@contextmanager
def writing_errors(folder: Path, still_bytes: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Turn an error of writing into one for the user.

    Raises:
        PipelineError: something in it could not be written.
    """
    try:
        yield
    except OSError as error:
        raise unwritten_text(folder, error, still_bytes()) from error


def worker_failure(folder: Path, failed: ShardFailure, still_bytes: int) -> PipelineError:
    """Return what to tell when a worker could not make its shard."""
    if failed.errno:
        error = OSError(failed.errno, os.strerror(failed.errno), failed.file or None)
        return unwritten_text(folder, error, still_bytes)
    if failed.message:
        return PipelineError(failed.message)
    return PipelineError(
        f"{folder}: a worker failed in a way it should not; this is a fault of quickfit.\n"
        f"{failed.traceback}All shards that are there are whole."
    )


def check_free_space(folder: Path, still_bytes: int) -> None:
    """See that the disk has room, before it is filled for nothing.

    Raises:
        PipelineError: it has not.
    """
    disk = shutil.disk_usage(folder)
    # Some network file systems tell nothing.
    if disk.total and disk.free < still_bytes:
        raise PipelineError(
            f"{folder}: the pack needs about {size(still_bytes)}, and {_format_free(folder)}.\n"
            "Make room for it, name a folder on another disk, or store less:\n"
            f"    quickfit pack SRC {folder} --as jpeg256"
        )


def _has_no_inodes(folder: Path) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    # Some file systems count none at all.
    return disk.f_files > 0 and disk.f_favail == 0


def _format_free(folder: Path) -> str:
    try:
        return f"{size(shutil.disk_usage(folder).free)} are free"
    except OSError:
        return "the free space is not known"


def finish_pack(
    layout: PackLayout,
    settings: PackSettings,
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
    notes = [ShardNote(**read_json(files.note)) for files in shards]
    rejected = _sorted_rejections(notes, listing_rejected)
    if not any(note.count for note in notes):
        _raise_empty(layout, rejected)
    write_json_lines(layout.rejected, layout.aside("rejected", "jsonl"), rejected)
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
        files=_list_checksums(layout, shards),
    )
    _sync_pack(layout, shards)
    write_json(layout.manifest, layout.aside("manifest", "json"), manifest.as_json())
    _sync_path(layout.manifest)
    _sync_path(layout.folder)
    drop_unfinished_files(layout)
    return manifest


def _sorted_rejections(
    notes: Iterable[ShardNote], listing: Iterable[Rejection]
) -> list[dict[str, Any]]:
    listed = [{"path": r.name, "reason": r.reason, "detail": r.detail} for r in listing]
    found = [
        {name: value for name, value in values.items() if name != "position"}
        for note in notes
        for values in note.rejected
    ]
    return sorted(listed + found, key=lambda r: (path_bytes(r["path"]), r["reason"], r["detail"]))


def _raise_empty(layout: PackLayout, rejected: list[dict[str, Any]]) -> None:
    """Leave the reasons and nothing else."""
    clear_folder(layout)
    layout.rejected.write_text("".join(map(json_line, rejected)), encoding="ascii")
    if not rejected:
        raise PipelineError(f"{layout.folder}: nothing was packed: the iterable gave no images.")
    some = "".join(f"\n  {r['path']!r}: {r['detail']}" for r in rejected[:_MOST_SHOWN])
    raise PipelineError(
        f"{layout.folder}: nothing was packed: all {count(len(rejected))} images were left out "
        f"({format_reasons(rejected)}).{some}\nAll of them are in {layout.rejected}."
    )


def format_reasons(rejected: Iterable[dict[str, Any]]) -> str:
    """Return how many were left out for each reason: `2 truncated, 1 not an image`."""
    counted = Counter(_format_reason(values) for values in rejected)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count(number)} {reason}" for reason, number in ranked)


def _format_reason(values: dict[str, Any]) -> str:
    # Of a list, a path that never was there did not vanish.
    if values["detail"] == "it does not exist":
        return "not there"
    return str(values["reason"]).replace("-", " ")


def _list_checksums(layout: PackLayout, shards: Sequence[ShardFiles]) -> dict[str, int]:
    files = [layout.rejected, *(files.index for files in shards)]
    if layout.sources.exists():
        files.append(layout.sources)
    return {file.relative_to(layout.folder).as_posix(): file_crc32c(file) for file in sorted(files)}


def _sync_pack(layout: PackLayout, shards: Sequence[ShardFiles]) -> None:
    """Wait until all shards are on the disk: a manifest that survives a power cut tells the truth.

    Once for all of them at the end, when most of it is there: each would make a worker wait.
    """
    for files in shards:
        _sync_path(files.records)
        _sync_path(files.index)
    for file in (layout.rejected, layout.indexes, layout.folder):
        _sync_path(file)


def _sync_path(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
