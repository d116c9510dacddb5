"""Decides where decoded images are cached: in memory, on disk or not at all, from free space."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Literal

import psutil

from quickfit import units
from quickfit.capacity import free_memory_bytes
from quickfit.errors import PipelineError, UsageError

# The model, its optimizer and the rest of the machine need theirs.
_MEMORY_SHARE = 0.5
_DISK_SHARE = 0.25
_CHOICES = "'auto', 'memory', 'disk', a folder, or None"


@dataclass(frozen=True)
class Place:
    """Where decoded images are cached, and why there.

    Args:
        kind: in memory, in a file, or nowhere.
        folder: of the file.
        reason: for people.
    """

    kind: Literal["memory", "disk", "none"]
    folder: str
    reason: str


def place_for(cache: object, needed_bytes: int) -> Place:
    """Return where to cache images of this size.

    Args:
        cache: "auto", "memory", "disk", a folder, or None, "none" or False for nowhere.
        needed_bytes: for all of them.

    Raises:
        UsageError: it is no place.
        PipelineError: there is no room, or the folder cannot be made.
    """
    if cache in (None, "none") or cache is False:
        return Place("none", "", "not cached")
    if cache == "auto":
        return _fitting(needed_bytes)
    if cache == "memory":
        return _in_memory(needed_bytes)
    return _on_disk(cache, needed_bytes)


def _on_disk(cache: object, needed_bytes: int) -> Place:
    folder = _roomy_folder() if cache == "disk" else _checked_folder(cache)
    there = folder if os.path.isdir(folder) else os.path.dirname(folder)
    size, free_bytes = units.size(needed_bytes), free_disk_bytes(there)
    if needed_bytes > free_bytes:
        raise PipelineError(
            f"images(cache={_shown(cache)}): the decoded images take {size}, and "
            f"{units.size(free_bytes)} are free in {there}. Give cache='auto', a folder on a "
            "larger disk, or a smaller size"
        )
    _make(folder, cache)
    return Place("disk", folder, f"cached in a file in {folder} ({size})")


def _in_memory(needed_bytes: int) -> Place:
    size, free = units.size(needed_bytes), units.size(free_memory_bytes())
    if needed_bytes > free_memory_bytes():
        raise PipelineError(
            f"images(cache='memory'): the decoded images take {size}, and {free} of memory are "
            "free. Give cache='auto' or cache='disk', or a smaller size"
        )
    return Place("memory", "", f"cached in memory ({size} of {free} free)")


def _fitting(needed_bytes: int) -> Place:
    size, memory = units.size(needed_bytes), free_memory_bytes()
    if needed_bytes <= memory * _MEMORY_SHARE:
        return Place("memory", "", f"cached in memory ({size} of {units.size(memory)} free)")
    folder = _roomy_folder()
    disk = 0 if _is_memory(folder) else free_disk_bytes(folder)
    room = f"{units.size(memory)} of memory and {units.size(disk)} of disk are free"
    if needed_bytes <= disk * _DISK_SHARE:
        return Place("disk", folder, f"cached in a file in {folder} ({size}; {room})")
    return Place("none", "", f"not cached ({size} would be needed; {room})")


def _checked_folder(cache: object) -> str:
    """Return the folder that the user named; it, or the one around it, is there."""
    if not isinstance(cache, str | os.PathLike):
        raise UsageError(f"images(cache={cache!r}): give {_CHOICES}")
    name = os.fsdecode(cache)
    folder = os.path.abspath(os.path.expanduser(name))
    if os.path.isdir(folder):
        return folder
    # A word that is none of ours is more often a slip than a folder.
    if isinstance(cache, str) and os.sep not in name:
        raise UsageError(
            f"images(cache={cache!r}): give {_CHOICES}. A new folder of that name is "
            f"cache={os.path.join(os.curdir, name)!r}"
        )
    if not os.path.isdir(os.path.dirname(folder)):
        raise UsageError(
            f"images(cache={_shown(cache)}): there is no folder {os.path.dirname(folder)} to make "
            f"it in. Check the path, or give {_CHOICES}"
        )
    return folder


def _make(folder: str, cache: object) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise PipelineError(
            f"images(cache={_shown(cache)}): the folder {folder} cannot be made: "
            f"{error.strerror}. For a cache, give {_CHOICES}"
        ) from error


def _shown(cache: object) -> str:
    return repr(os.fsdecode(cache) if isinstance(cache, os.PathLike) else cache)


def free_disk_bytes(folder: str) -> int:
    """Return the free space of a folder's file system."""
    return shutil.disk_usage(folder).free


def _roomy_folder() -> str:
    """Return the folder for temporary files, if it can another one than one that is memory."""
    folders = (tempfile.gettempdir(), "/var/tmp")
    usable = [folder for folder in folders if os.access(folder, os.W_OK)] or [folders[0]]
    return next((folder for folder in usable if not _is_memory(folder)), usable[0])


def _is_memory(folder: str) -> bool:
    real = os.path.realpath(folder)
    mounts = [
        mount
        for mount in psutil.disk_partitions(all=True)
        if os.path.commonpath([mount.mountpoint, real]) == mount.mountpoint
    ]
    innermost = max(mounts, key=lambda mount: len(mount.mountpoint), default=None)
    return innermost is not None and innermost.fstype in ("tmpfs", "ramfs")
