"""Writes changes as a patch, for people to read and for `git apply` to take."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from quickfit import terminal
from quickfit.fixes.files import SourceFile

# Changes of one file that a person reads; what is more is counted.
MAX_LINES = 200
_NO_END = "\\ No newline at end of file\n"


def patch(files: Mapping[str, tuple[SourceFile, bytes]], *, base: Path) -> bytes:
    """Return a patch of all files.

    Args:
        files: each file as it is, and its bytes as they become, by its path.
        base: the folder in which `git apply` is to be run.
    """
    top = _top(Path(os.path.realpath(base)))
    return b"".join(
        _of_file(_name(path, top), before, after)
        for path, (before, after) in sorted(files.items())
        if before.data != after
    )


def show_patch(
    files: Mapping[str, tuple[SourceFile, bytes]], *, base: Path, stream: TextIO
) -> None:
    """Show a person what is about to be written, file by file; of a long one its beginning."""
    for path, change in sorted(files.items()):
        text = patch({path: change}, base=base).decode(errors="replace").replace("\r\n", "\n")
        lines = text.splitlines(keepends=True)
        terminal.write(stream, "".join(lines[:MAX_LINES]))
        if len(lines) > MAX_LINES:
            terminal.write(stream, f"… and {len(lines) - MAX_LINES:,} more lines in this file\n")


def _top(base: Path) -> Path:
    """Return the folder from which git sees the paths of a patch, wherever it is run below."""
    return next((f for f in (base, *base.parents) if (f / ".git").exists()), base)


def _name(path: str, top: Path) -> str:
    return Path(os.path.relpath(os.path.realpath(path), top)).as_posix()


def _of_file(name: str, before: SourceFile, after: bytes) -> bytes:
    names = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    lines = list(difflib.unified_diff(_rows(before.data), _rows(after), *names, lineterm="\n"))
    head = f"diff --git {' '.join(names)}\n"
    head += "".join(line.rstrip("\t\n") + "\n" for line in lines[:2])
    body = [line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines[2:]]
    return head.encode() + "".join(body).encode("latin-1")


def _rows(data: bytes) -> list[str]:
    """Return the lines as git sees them, byte by byte: whatever the encoding, ended by `\\n`."""
    rows = [f"{row}\n" for row in data.decode("latin-1").split("\n")]
    rows[-1] = rows[-1].removesuffix("\n")
    return [row for row in rows if row]


def _quoted(name: str) -> str:
    """Return a name as git writes it where it holds more than plain characters."""
    if all(" " <= c <= "~" and c not in '"\\' for c in name):
        return name
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in os.fsencode(name)
    )
    return f'"{escaped}"'
