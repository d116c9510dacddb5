"""Lets Python read edited text in the place of the user's files, which stay as they are."""

from __future__ import annotations

import _io
import io
import linecache
import os
import tokenize
from importlib.machinery import SourceFileLoader
from typing import Any


def install(files: dict[str, str]) -> None:
    """Read each of these files from another place, also where a compiled one is cached.

    Args:
        files: by the path of the user's file, the path of its edited text.
    """
    if not files:
        return
    real = {os.path.realpath(path): text for path, text in files.items()}
    _show_sources(real)
    original, stats = _io.open_code, SourceFileLoader.path_stats

    def open_code(path: str) -> Any:
        return original(real.get(os.path.realpath(path), path))

    def path_stats(self: SourceFileLoader, path: str) -> Any:
        if os.path.realpath(path) in real:
            raise OSError("edited: its compiled file is another text's")
        return stats(self, path)

    _io.open_code = io.open_code = open_code
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]


def _show_sources(real: dict[str, str]) -> None:
    """Give `inspect` the edited lines: AutoGraph compiles what it reads there, not the code.

    It also asks for them to be read again, so keeping them in the cache is not enough.
    """
    original = linecache.updatecache

    def updatecache(filename: str, module_globals: Any = None) -> list[str]:
        text = real.get(os.path.realpath(filename))
        if text is None:
            return original(filename, module_globals)
        with tokenize.open(text) as file:
            lines = file.readlines()
        # Without a time, an entry is never checked against the file.
        linecache.cache[filename] = (0, None, lines, filename)
        return lines

    linecache.updatecache = updatecache
