"""Scratch folders that do not outlive their process for long: a lock says which are in use."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quickfit.tuning.trials.process import LOCK, hold

_OWN = "quickfit-tune-"
PREFIXES = (_OWN, "quickfit-trial-", "quickfit-fix-")


@contextmanager
def scratch_folder(prefix: str = _OWN) -> Iterator[Path]:
    """Give an empty folder, and remove it in the end; first remove those left by dead processes.

    Args:
        prefix: how its name begins, one of `PREFIXES`.
    """
    sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as place:
        held = hold(Path(place))
        try:
            inner = Path(place) / "kept"
            inner.mkdir()
            yield inner
        finally:
            os.close(held)


def sweep(place: Path) -> None:
    """Remove our folders whose processes were killed, and so could not remove them.

    Only folders of this user that have the lock file, and where nobody holds its lock: the kernel
    lets go of it when a process ends, however it ends, and in whichever container.
    """
    for prefix in PREFIXES:
        for folder in place.glob(f"{prefix}*"):
            with suppress(OSError):  # somebody else's, gone meanwhile, or in use
                _remove_unused(folder)


def _remove_unused(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
