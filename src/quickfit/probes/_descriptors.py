"""Opens files inside the script's process without ever touching a file of the script's.

A daemon closes all numbers that it does not know and opens its own files under them. A thread that
is between `open` and `close` just then would read from the script's file and close it, and SQLite
would write into it. The compiled part looks and closes in one go (`_frames.c`), and what stays open
is opened under high numbers, which a script is not given by opening files. Without the compiled
part files are opened as anywhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from quickfit.standard import standard

try:
    from quickfit.probes import _frames  # type: ignore[attr-defined]
except ImportError:  # installed without a compiler
    _frames = None
_native: Any = _frames
if _native is not None:
    # Another thread may fork while numbers are taken; the new process has no use for them.
    os.register_at_fork(after_in_child=_native.free_numbers)
# Below 1024, where `select` ends, with room for what a database has open beside its file.
_HIGHEST, _ROOM = 1024, 64
# Where a script may have so few files open that numbers are scarce, none are taken.
_FEWEST = 256


def read_bytes(path: str, limit: int) -> bytes | None:
    """Return what a file says, at most `limit` bytes, or None where it cannot be read."""
    try:
        if _native is not None:
            found: bytes | None = _native.read_file(os.fsencode(path), limit)
            return found
        # The plain system calls cost a quarter of what `open` does.
        file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):  # a name that no file can have
        return None
    try:
        return os.read(file, limit)
    except OSError:
        return None
    finally:
        os.close(file)


def names_in(folder: str) -> list[str]:
    """Return the names in a folder of `/proc`; raise OSError where it cannot be read."""
    if _native is None:
        return os.listdir(folder)
    names: list[str] | None = _native.list_folder(os.fsencode(folder))
    if names is None:
        raise FileNotFoundError(folder)
    return names


@contextlib.contextmanager
def high_numbers() -> Iterator[None]:
    """Let files that are opened meanwhile have numbers that the script does not get."""
    lowest = min(_open_limit(), _HIGHEST) - _ROOM
    if _native is None or lowest < _FEWEST - _ROOM:
        yield
        return
    _native.fill_numbers(lowest)
    try:
        yield
    finally:
        _native.free_numbers()


def _open_limit() -> int:
    try:
        resource = standard("resource")
    except ImportError:
        return 0
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _HIGHEST if limit == resource.RLIM_INFINITY else int(limit)
