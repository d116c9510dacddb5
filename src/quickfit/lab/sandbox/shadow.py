"""A second file system in the scratch folder, where what a trial writes goes.

A new file lands below `scratch/shadow` under its own path, and is found there when it is read
again. A file that the user has is never touched: a library that saves (Keras, TensorFlow, a
tracker) gets a copy there; anything else that would change it ends the trial.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Collection
from types import FrameType
from typing import Any, NoReturn

from quickfit.lab.sandbox.spec import EXIT_UNSAFE, UNSAFE_FILE
from quickfit.probes._places import is_library_path, user_place

# What belongs to no user: devices, the kernel's own files.
OPEN_FOLDERS = ("/dev", "/proc", "/sys")
# Libraries that write what may be replaced: models, logs, tables of measurements.
SAVERS = {
    *("keras", "tf_keras", "tensorflow", "tensorboard", "tensorboardX", "h5py", "absl"),
    *("wandb", "mlflow", "comet_ml", "neptune", "clearml", "aim"),
}
# Memory that programs share as files; what the user had there before the trial is theirs.
SHARED_MEMORY = "/dev/shm/"
_lstat, _makedirs, _getcwd = os.lstat, os.makedirs, os.getcwd
_open, _readlink = os.open, os.readlink
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Shadow:
    """Where each path of the user is read and written in a trial.

    Args:
        scratch: the folder of the trial.
        shared_memory: names of what the user has in `/dev/shm`.
    """

    def __init__(self, scratch: str, shared_memory: Collection[str] = ()) -> None:
        self._shared_memory = frozenset(shared_memory)
        self.scratch = os.path.realpath(scratch)
        self.root = os.path.join(self.scratch, "shadow")
        self._open = tuple(os.path.join(f, "") for f in (*OPEN_FOLDERS, self.scratch))

    def path_of(self, path: Any) -> str | None:
        """Return an absolute path, or None for what is none: a number, or the trial's own."""
        if isinstance(path, int) or path is None:
            return None
        try:
            text = os.fsdecode(path)
        except TypeError:
            return None
        if "://" in text or text.startswith("/cns/"):
            return None  # another file system's
        full = os.path.abspath(text)
        if not self._is_open(full):
            return full
        # A way through `/proc/self/cwd`, `/dev/fd` or a linked folder leads elsewhere.
        is_scratch = full.startswith(self.scratch)
        folder, name = os.path.split(full)
        real = os.path.join(_resolved(folder), name) if is_scratch else _resolved(full)
        return None if self._is_open(real) else real

    def _is_open(self, full: str) -> bool:
        if full.startswith(SHARED_MEMORY):
            return full.split(os.sep)[3] not in self._shared_memory
        return full.startswith(self._open) or full in OPEN_FOLDERS

    def target_of(self, path: Any) -> str | None:
        """Return what `path_of` returns, with a link at the end of the path followed too."""
        full = self.path_of(path)
        if full is None and isinstance(path, str | bytes | os.PathLike):
            full = self.path_of(_resolved(os.path.abspath(os.fsdecode(path))))
        return full

    def twin(self, full: str) -> str:
        """Return where a path lies in the shadow."""
        return self.root + full

    def to_read(self, path: Any) -> Any:
        """Return the path to read: the trial's own file, where it has written one."""
        full = self.path_of(path)
        if full is None:
            return path
        twin = self.twin(full)
        if _exists(twin):
            return twin
        is_relative = not os.path.isabs(os.fsdecode(path))
        return full if is_relative and self._is_inside() else path

    def _is_inside(self) -> bool:
        folder = _getcwd()
        return self.seen_as(folder) != folder

    def seen_as(self, folder: str) -> str:
        """Return a folder as the script is to see it: one of the shadow under its own path."""
        is_twin = folder.startswith(os.path.join(self.root, ""))
        return folder[len(self.root) :] if is_twin else folder

    def has(self, full: str) -> bool:
        """Tell whether the user has this file or folder, whatever the trial has written."""
        return _exists(full)

    def to_write(self, path: Any, *, keeps: bool = False) -> Any:
        """Return the path to write to.

        Args:
            path: what the script asked for.
            keeps: what is in the file stays, and more is added.
        """
        full = self.path_of(path)
        if full is None:
            return path
        twin = self.twin(full)
        if not _exists(twin):
            if _exists(full) and not os.path.isdir(full):
                self._copy(full, twin, keeps=keeps)
            elif not self.is_folder(os.path.dirname(full)):
                return path  # the error it would have been
            else:
                _makedirs(os.path.dirname(twin), exist_ok=True)
        return twin

    def _copy(self, full: str, twin: str, *, keeps: bool) -> None:
        frame = sys._getframe(2)
        if not is_saver(frame):
            self.refuse("writes", full, frame)
        _makedirs(os.path.dirname(twin), exist_ok=True)
        if keeps:
            shutil.copyfile(full, twin)

    def saved(self, path: Any) -> Any:
        """Return where a saver of TensorFlow writes, with the folder it writes into."""
        full = self.path_of(path)
        if full is None:
            return path
        twin = self.twin(full)
        _makedirs(os.path.dirname(twin), exist_ok=True)
        return twin

    def is_folder(self, full: str) -> bool:
        """Tell whether a folder is there, in the trial's view."""
        return os.path.isdir(full) or os.path.isdir(self.twin(full))

    def gone(self, path: Any, what: str) -> Any:
        """Return the path to remove or move away; what is the user's ends the trial.

        Raises:
            FileNotFoundError: there is no such file.
        """
        full = self.path_of(path)
        if full is None:
            return path
        twin, frame = self.twin(full), sys._getframe(1)
        # A folder of the user stays the user's when the trial has written into it.
        is_users = _exists(full) and (not _exists(twin) or _is_lost(full, what))
        if is_users and not is_saver(frame):
            self.refuse(what, full, frame)
        if _exists(twin):
            return twin
        if is_users:
            return None  # a saver goes on as if it had been removed
        # A read-only folder would answer with another error.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def refuse(
        self, what: str, full: str, frame: FrameType | None, *, can_be_trusted: bool = False
    ) -> NoReturn:
        """End the trial at once: this would change a file of the user, or might.

        Args:
            what: a verb.
            full: what it is done to.
            frame: where.
            can_be_trusted: a script that the user trusts may do it.
        """
        place = user_place(frame)
        facts = {"what": what, "path": full}
        if can_be_trusted:
            facts["can_be_trusted"] = "yes"
        if place is not None:
            facts |= {"file": place.file, "line": str(place.line)}
        descriptor = os.open(
            os.path.join(self.scratch, UNSAFE_FILE), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
        )
        os.write(descriptor, json.dumps(facts).encode())
        os._exit(EXIT_UNSAFE)


def is_saver(frame: FrameType | None) -> bool:
    """Tell whether the nearest code that is not Python's own belongs to a library that saves."""
    while frame is not None:
        file = frame.f_code.co_filename
        package = _package(file)
        if package:
            return package in SAVERS
        is_own = file.startswith((_OWN, "<frozen"))
        if not is_own and not is_library_path(file):
            return False
        frame = frame.f_back
    return False


def _package(file: str) -> str:
    """Return the name of the installed package a file belongs to, or nothing."""
    for folder in ("site-packages", "dist-packages"):
        _, found, rest = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return rest.split(os.sep)[0].removesuffix(".py")
    return ""


def _is_lost(full: str, what: str) -> bool:
    return what in ("deletes", "moves") and os.path.isdir(full)


def _resolved(path: str) -> str:
    """Return a path with its links followed; as `realpath`, with functions that stay Python's."""
    try:
        descriptor = _open(path, os.O_PATH if hasattr(os, "O_PATH") else os.O_RDONLY)
    except FileNotFoundError:
        folder, name = os.path.split(path)
        return os.path.join(_resolved(folder), name) if folder != path else path
    except (OSError, ValueError):
        return path
    try:
        real = _readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        real = path
    finally:
        os.close(descriptor)
    return real if real.startswith(os.sep) else path  # a pipe or a socket has no path


def _exists(path: str) -> bool:
    try:
        _lstat(path)
    except (OSError, ValueError):
        return False
    return True
