"""Says why a pack cannot be written, and how to go on."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from quickfit.data.packing._worker import Failed
from quickfit.errors import PipelineError
from quickfit.units import size

_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota of the disk is used up"}
GO_ON = "Run the same command again; it goes on where it stopped."


def not_written(folder: Path, error: OSError, still_bytes: int) -> PipelineError:
    """Return what to tell when a file of a pack cannot be written.

    Args:
        folder: of the pack.
        error: of the operating system.
        still_bytes: about how much is still to be written.
    """
    number = error.errno or 0
    if number == errno.ENOSPC and _has_no_inodes(folder):
        what = "the disk can hold no more files: its inodes are used up, whatever room is free"
        remedy = f"Delete files that are not needed, or name a folder on another disk. {GO_ON}"
    elif number in _FULL:
        what = (
            f"{_FULL[number]}: about {size(still_bytes)} are still to be written, {_free(folder)}"
        )
        remedy = f"Make room for it. {GO_ON}"
    elif number == errno.EFBIG:
        what = "a shard is larger than the file system or `ulimit -f` allows"
        remedy = f"Make smaller shards:\n    quickfit pack SRC {folder} --restart --shard-mb 64"
    else:
        reason = error.strerror or str(error)
        what = f"the pack cannot be written: {reason} ({_where(folder, error)})"
        remedy = f"Make the folder writable. {GO_ON}"
    return PipelineError(f"{folder}: {what}.\nAll shards that are there are whole. {remedy}")


@contextmanager
def told(folder: Path, still_bytes: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Turn an error of writing into one for the user.

    Raises:
        PipelineError: something in it could not be written.
    """
    try:
        yield
    except OSError as error:
        raise not_written(folder, error, still_bytes()) from error


def of_worker(folder: Path, failed: Failed, still_bytes: int) -> PipelineError:
    """Return what to tell when a worker could not make its shard."""
    if failed.errno:
        error = OSError(failed.errno, os.strerror(failed.errno), failed.file or None)
        return not_written(folder, error, still_bytes)
    if failed.message:
        return PipelineError(failed.message)
    return PipelineError(
        f"{folder}: a worker failed in a way it should not; this is a fault of quickfit.\n"
        f"{failed.traceback}All shards that are there are whole."
    )


def check_room(folder: Path, still_bytes: int) -> None:
    """See that the disk has room, before it is filled for nothing.

    Raises:
        PipelineError: it has not.
    """
    disk = shutil.disk_usage(folder)
    # Some network file systems tell nothing.
    if disk.total and disk.free < still_bytes:
        raise PipelineError(
            f"{folder}: the pack needs about {size(still_bytes)}, and {_free(folder)}.\n"
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


def _free(folder: Path) -> str:
    try:
        return f"{size(shutil.disk_usage(folder).free)} are free"
    except OSError:
        return "nobody knows how much is free"


def _where(folder: Path, error: OSError) -> str:
    return Path(str(error.filename)).name if error.filename else folder.name
