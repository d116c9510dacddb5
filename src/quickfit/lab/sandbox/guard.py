"""Puts the shadow between the script and Python's functions on files."""

from __future__ import annotations

import builtins
import contextlib
import errno
import functools
import io
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from quickfit.lab.sandbox.shadow import Shadow
from quickfit.lab.sandbox.spec import VARIABLE

# Functions of `os` by what they do to their first argument.
READS = ("stat", "lstat", "access", "readlink", "getxattr", "listxattr")
REMOVES = ("remove", "unlink", "rmdir")
CHANGES = ("chmod", "chown", "lchown", "utime", "truncate", "setxattr", "removexattr")
MAKES = ("mkfifo", "mknod")
MOVES = ("rename", "replace", "renames")
# What the audit hook stops where the kernel does not: these go past the functions above.
AUDITED = {
    **dict.fromkeys(("os.remove", "os.rmdir", "shutil.rmtree"), "deletes"),
    **dict.fromkeys(("os.truncate", "os.chmod", "os.chown", "os.utime"), "changes"),
    **dict.fromkeys(("os.setxattr", "os.removexattr"), "changes"),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink", "os.mkdir"), "writes"),
    "sqlite3.connect": "opens",
}
# Which arguments of an event name what would change, where it is not the first. A hard link is
# a second way to the same file.
_TARGETS = {"os.rename": slice(2), "os.link": slice(2), "os.symlink": slice(1, 2)}
# Where an event has the open folder that a path is relative to: -1 for none.
_FOLDERS = {
    **dict.fromkeys(("os.remove", "os.rmdir"), slice(1, 2)),
    **dict.fromkeys(("os.mkdir", "os.chmod", "os.symlink"), slice(2, 3)),
    **dict.fromkeys(("os.chown", "os.utime"), slice(3, 4)),
    **dict.fromkeys(("os.rename", "os.link"), slice(2, 4)),
}
_STARTS = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn")
# Programs that write nothing: Python's own `platform` and libraries ask them about the machine.
HARMLESS = {
    *("uname", "hostname", "nproc", "lscpu", "lspci", "free", "df", "getconf", "ldconfig"),
    *("nvidia-smi", "rocm-smi", "rocminfo", "sysctl", "sw_vers", "which", "true", "echo"),
}
# Flags with which Python leaves out what guards it.
_UNGUARDED = ("-S", "-I", "-E")
# Functions of C that a script might look up to write past Python.
_OF_C = {
    *("open", "open64", "openat", "creat", "fopen", "fopen64", "truncate", "truncate64"),
    *("unlink", "unlinkat", "remove", "rmdir", "rename", "renameat", "renameat2", "link"),
    *("linkat", "symlink", "mkdir", "mkdirat", "chmod", "fchmod", "fchmodat", "chown", "fchown"),
    *("lchown", "utime", "utimes", "utimensat", "futimens", "setxattr", "system", "popen"),
    *("execv", "execve", "execvp", "posix_spawn", "kill", "syscall"),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install(shadow: Shadow) -> None:
    """Send everything that this process writes through Python to the shadow."""
    opened = _opened(shadow, builtins.open)
    builtins.open = io.open = opened
    os.open = _os_open(shadow, os.open)
    os.mkdir = _mkdir(shadow, os.mkdir)
    os.listdir = _listdir(shadow, os.listdir)
    os.scandir = _scandir(shadow, os.scandir)
    os.chdir = _chdir(shadow, os.chdir)
    os.getcwd = _getcwd(shadow, os.getcwd)
    os.getcwdb = lambda: os.fsencode(os.getcwd())
    shutil.rmtree = _rmtree(shadow, shutil.rmtree)  # type: ignore[assignment]
    wraps = ((READS, _reading), (REMOVES, _removing), (CHANGES, _changing), (MAKES, _making))
    for names, wrap in wraps:
        for name in names:
            if hasattr(os, name):
                setattr(os, name, wrap(shadow, getattr(os, name)))
    for name in MOVES:
        setattr(os, name, _moving(shadow, getattr(os, name)))
    for name in ("link", "symlink"):
        setattr(os, name, _linking(shadow, getattr(os, name)))


def _opened(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def open(file: Any, mode: str = "r", *args: Any, **keywords: Any) -> Any:
        if not isinstance(mode, str) or not any(letter in mode for letter in "wax+"):
            return original(shadow.to_read(file), mode, *args, **keywords)
        if "x" in mode:
            _check_new(shadow, file)
        path = shadow.to_write(file, keeps="w" not in mode)
        return original(path, mode, *args, **keywords)

    return open


def _check_new(shadow: Shadow, path: Any) -> None:
    full = shadow.path_of(path)
    if full is not None and shadow.has(full):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


def _os_open(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def open(path: Any, flags: int, *args: Any, **keywords: Any) -> Any:
        if keywords.get("dir_fd") is not None:
            return original(path, flags, *args, **keywords)
        if flags & os.O_CREAT and flags & os.O_EXCL:
            _check_new(shadow, path)
        if flags & _WRITING:
            path = shadow.to_write(path, keeps=not flags & os.O_TRUNC)
        else:
            path = shadow.to_read(path)
        return original(path, flags, *args, **keywords)

    return open


def _mkdir(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def mkdir(path: Any, *args: Any, **keywords: Any) -> Any:
        full = shadow.path_of(path)
        if full is None or keywords.get("dir_fd") is not None:
            return original(path, *args, **keywords)
        if os.path.lexists(full):  # an error, wherever it is
            return original(shadow.to_read(path), *args, **keywords)
        if not shadow.is_folder(os.path.dirname(full)):
            return original(path, *args, **keywords)  # the error it would have been
        twin = shadow.twin(full)
        _make_folders(original, os.path.dirname(twin))
        return original(twin, *args, **keywords)

    return mkdir


def _make_folders(mkdir: Callable[..., Any], folder: str) -> None:
    if not os.path.isdir(folder):
        _make_folders(mkdir, os.path.dirname(folder))
        mkdir(folder)


def _listdir(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def listdir(path: Any = ".") -> Any:
        full = shadow.path_of(path)
        twin = shadow.twin(full) if full is not None else ""
        if not twin or not os.path.isdir(twin) or isinstance(path, bytes):
            return original(path if full is None else shadow.to_read(path))
        try:
            there = original(full)
        except FileNotFoundError:
            there = []
        return list(dict.fromkeys([*there, *original(twin)]))

    return listdir


class _Entry:
    """An entry of a folder in the shadow, under the path that the script asked for."""

    def __init__(self, entry: os.DirEntry[str], folder: Any) -> None:
        self._entry = entry
        self.path = os.path.join(folder, entry.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> str:
        return self.path


class _Entries:
    """What `os.scandir` returns: to be looped over, closed, or used with `with`."""

    def __init__(self, entries: Iterable[Any]) -> None:
        self._entries = iter(list(entries))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def _scandir(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def scandir(path: Any = ".") -> Any:
        full = shadow.path_of(path)
        twin = shadow.twin(full) if full is not None else ""
        if full is None or not os.path.isdir(twin) or isinstance(path, bytes):
            return original(path if full is None else shadow.to_read(path))
        with original(twin) as entries:
            new = {entry.name: _Entry(entry, path) for entry in entries}
        if not shadow.has(full):
            return _Entries(new.values())
        with original(full) as entries:
            there = [entry for entry in entries if entry.name not in new]
        return _Entries([*(_Entry(entry, path) for entry in there), *new.values()])

    return scandir


def _chdir(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def chdir(path: Any) -> None:
        full = shadow.path_of(path)
        if full is None:
            original(path)
        else:
            original(full if shadow.has(full) else shadow.to_read(path))

    return chdir


def _getcwd(shadow: Shadow, original: Callable[[], str]) -> Callable[[], str]:
    return functools.wraps(original)(lambda: shadow.seen_as(original()))


def _rmtree(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def rmtree(path: Any, *args: Any, **keywords: Any) -> Any:
        with contextlib.suppress(FileNotFoundError):  # which the function says, or ignores
            path = shadow.gone(path, "deletes")
        return None if path is None else original(path, *args, **keywords)

    return rmtree


def _reading(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(*args: Any, **keywords: Any) -> Any:
        if args and keywords.get("dir_fd") is None:
            args = (shadow.to_read(args[0]), *args[1:])
        return original(*args, **keywords)

    return read


def _removing(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def remove(path: Any, *args: Any, **keywords: Any) -> Any:
        if keywords.get("dir_fd") is None:
            path = shadow.gone(path, "deletes")
        return None if path is None else original(path, *args, **keywords)

    return remove


def _changing(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def change(path: Any, *args: Any, **keywords: Any) -> Any:
        if keywords.get("dir_fd") is None:
            path = shadow.gone(path, "changes")
        return None if path is None else original(path, *args, **keywords)

    return change


def _making(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(path: Any, *args: Any, **keywords: Any) -> Any:
        if keywords.get("dir_fd") is None:
            path = shadow.to_write(path)
        return original(path, *args, **keywords)

    return make


def _moving(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def move(source: Any, target: Any, **keywords: Any) -> Any:
        source = shadow.gone(source, "moves")
        target = shadow.to_write(target)
        return None if source is None else original(source, target, **keywords)

    return move


def _linking(shadow: Shadow, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def link(source: Any, target: Any, *args: Any, **keywords: Any) -> Any:
        target = shadow.to_write(target)
        if original.__name__ == "link" and shadow.path_of(source) is not None:
            # A hard link would be the user's own file under another name.
            shutil.copy2(shadow.to_read(source), target)
            return None
        return original(source, target, *args, **keywords)

    return link


def watch(shadow: Shadow) -> None:
    """Stop what would write past the functions above, where the kernel does not."""

    def refuse(what: str, full: str) -> None:
        shadow.refuse(what, full, sys._getframe(2), can_be_trusted=True)

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            is_writing = flags & _WRITING if isinstance(flags, int) else mode != "r"
            full = shadow.target_of(path) if is_writing else None
            if full is not None:
                refuse("writes", full)
        elif event in AUDITED and args:
            paths = args[_TARGETS.get(event, slice(1))]
            folders = args[_FOLDERS.get(event, slice(0))]
            for path, folder in itertools.zip_longest(paths, folders, fillvalue=-1):
                full = shadow.path_of(_below(folder, path))
                if full is not None and not _is_nothing(event, full, shadow):
                    refuse(AUDITED[event], full)
        elif event in _STARTS:
            if not _is_harmless(args):
                refuse("starts", str(args[0]))
        elif event == "ctypes.dlsym" and args[1] in _OF_C:
            refuse("calls", f"{args[1]} of C")

    sys.addaudithook(audit)


def _below(folder: int, path: Any) -> Any:
    """Return a path with the open folder that it is relative to, as `shutil.rmtree` gives it."""
    if not isinstance(folder, int) or folder < 0 or isinstance(path, int):
        return path
    return os.path.join(f"/proc/self/fd/{folder}", os.fsdecode(path))


def _is_nothing(event: str, full: str, shadow: Shadow) -> bool:
    """Tell whether there is no file to harm: a database in memory, or what is not there."""
    if event == "sqlite3.connect":
        return full.endswith("/:memory:") or "mode=memory" in full
    return AUDITED[event] == "deletes" and not shadow.has(full)


def _is_harmless(args: tuple[Any, ...]) -> bool:
    """Tell whether a program that is started is known to write nothing, or is guarded itself."""
    words = args[1] if len(args) > 1 else args[0]
    is_line = isinstance(words, str | bytes)
    words = os.fsdecode(words).split() if is_line else [os.fsdecode(word) for word in words]
    if is_line and any(mark in word for word in words for mark in ">;|&$`"):
        return False  # for a shell, more than one program
    env = args[-1] if len(args) > 1 else None
    is_guarded = words[:1] == [sys.executable] and not set(_UNGUARDED) & set(words)
    is_guarded = is_guarded and (env is None or {VARIABLE, "PYTHONPATH"} <= set(env))
    return is_guarded or os.path.basename((words or [""])[0]) in HARMLESS
