"""Takes a copy of a recording from a folder in which a script that is tried may write at any time.

The script may put a link, a pipe or a device in the place of a file, or of the whole folder. So
nothing is opened there but ordinary files, by their names in a folder that is held open, and SQLite
never opens one of them: it would follow links and write files of its own beside.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from quickfit import trust
from quickfit.recording.schema import PROCESS_SUFFIX

# As much as is read of a recording, and more files than any run has processes.
MAX_TAKEN_BYTES = 500_000_000
MAX_TAKEN_FILES = 2_000
_WAL = "-wal"
# The WAL's header, with the salt that changes when it begins anew.
_WAL_HEADER_BYTES = 32
_CHUNK_BYTES = 1 << 20
# A writer that begins a new WAL during every copy is not waited for.
_TRIES = 5
_HAS_FOLDERS = os.open in os.supports_dir_fd


class Source:
    """A folder in which a recording is written, held open from now on: no link can replace it.

    Raises:
        OSError: it is no folder, or a link.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: dict[str, tuple[object, ...]] = {}
        self._number = -1
        if _HAS_FOLDERS:
            self._number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)

    def close(self) -> None:
        """Let the folder go."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    def take(self, target: Path) -> None:
        """Copy what has changed since the last time; what cannot be copied is left out."""
        left = MAX_TAKEN_BYTES
        for name in self._names():
            with contextlib.suppress(OSError):
                left -= self._take_one(name, target, left)

    def _names(self) -> list[str]:
        with os.scandir(self._number if self._number >= 0 else self._folder) as entries:
            found = []
            for entry in entries:
                if entry.name.endswith(PROCESS_SUFFIX):
                    found.append(entry.name)
                if len(found) == MAX_TAKEN_FILES:
                    break
        return sorted(found)

    def _open(self, name: str) -> int:
        """Open an ordinary file of the folder.

        Raises:
            OSError: it is missing, or a link, a pipe, a device or a folder.
        """
        if self._number >= 0:
            return trust.open_regular(name, folder=self._number)
        return trust.open_regular(self._folder / name)

    def _state(self, name: str) -> tuple[object, ...]:
        """Return what changes when a file does; nothing of it where there is none."""
        try:
            number = self._open(name)
        except OSError:
            return ()
        try:
            facts = os.fstat(number)
            head = os.read(number, _WAL_HEADER_BYTES) if name.endswith(_WAL) else b""
            return facts.st_ino, facts.st_size, facts.st_mtime_ns, head
        finally:
            os.close(number)

    def _take_one(self, name: str, target: Path, most: int) -> int:
        state = self._state(name), self._state(name + _WAL)
        if self._taken.get(name) == state:
            return 0
        for _ in range(_TRIES):
            began = self._state(name + _WAL)[3:]
            # In this order: what moves from the WAL to the file meanwhile is found in both.
            copied = self._copy(name, target, most)
            with contextlib.suppress(FileNotFoundError):
                (target / (name + _WAL)).unlink()
            with contextlib.suppress(FileNotFoundError):
                (target / (name + "-shm")).unlink()
            with contextlib.suppress(FileNotFoundError):
                copied += self._copy(name + _WAL, target, most - copied)
            if self._state(name + _WAL)[3:] == began:
                self._taken[name] = state
                break
        return copied

    def _copy(self, name: str, target: Path, most: int) -> int:
        number = self._open(name)
        try:
            return copy_bytes(number, target / name, most)
        finally:
            os.close(number)


def copy_bytes(number: int, target: Path, most: int) -> int:
    """Copy an open file to a private one that takes the place of an older; return its size.

    Raises:
        OSError: it is larger than allowed, or cannot be read or written.
    """
    aside = target.with_name(f".{target.name}.new")
    aside.unlink(missing_ok=True)
    size = 0
    try:
        with os.fdopen(trust.create_private(aside), "wb") as file:
            while data := os.read(number, _CHUNK_BYTES):
                size += len(data)
                if size > most:
                    raise OSError(f"{target.name}: larger than {most:,} bytes")
                file.write(data)
        os.replace(aside, target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return size


def take(folder: Path, target: Path) -> None:
    """Copy a recording once.

    Raises:
        OSError: the folder is a link, or is none.
    """
    source = Source(folder)
    try:
        source.take(target)
    finally:
        source.close()
