"""Writes a model's file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from quickfit.errors import UsageError


def check_target(path: Path) -> None:
    """Find out before the work whether its result can be written.

    Raises:
        UsageError: it is a folder, or in a folder that is missing or may not be written to.
    """
    if path.is_dir():
        raise UsageError(f"{path}: this is a folder. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}.\n    mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path}: nothing may be written to the folder {path.parent}.")


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place of another in one step; after a failure the old one is as it was.

    Raises:
        UsageError: it cannot be written, such as on a disk that is full.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    try:
        handle, aside = tempfile.mkstemp(dir=target.parent, prefix=".quickfit-")
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(content)
            os.chmod(aside, _mode(target))
            os.replace(aside, target)
        except BaseException:
            os.unlink(aside)
            raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}).") from error


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those that a new one gets."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
