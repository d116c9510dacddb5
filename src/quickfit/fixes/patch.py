"""Writes changes as a patch, for people to read and for `git apply` to take."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

from quickfit.fixes.change import lines_of
from quickfit.fixes.files import SourceFile

_NO_END = "\\ No newline at end of file\n"


def patch(files: Mapping[str, tuple[SourceFile, bytes]], *, base: Path) -> bytes:
    """Return a patch of all files, with paths as seen from a folder.

    Args:
        files: each file as it is, and its bytes as they become, by its path.
        base: the folder in which `git apply` is to be run.
    """
    return b"".join(
        _of_file(_name(path, base), before, after)
        for path, (before, after) in sorted(files.items())
        if before.data != after
    )


def _name(path: str, base: Path) -> str:
    return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(base))).as_posix()


def _of_file(name: str, before: SourceFile, after: bytes) -> bytes:
    old, new = lines_of(before.text), lines_of(after.decode(before.encoding))
    quoted = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    lines = list(difflib.unified_diff(old, new, *quoted, lineterm="\n"))
    head = [
        f"diff --git {quoted[0]} {quoted[1]}\n",
        *(line.rstrip("\t\n") + "\n" for line in lines[:2]),
    ]
    body = [line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines[2:]]
    return "".join(head).encode() + "".join(body).encode(before.encoding.replace("-sig", ""))


def _quoted(name: str) -> str:
    """Return a name as git writes it where it holds more than plain characters."""
    if all(" " <= c <= "~" and c not in '"\\' for c in name):
        return name
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in name.encode()
    )
    return f'"{escaped}"'
