"""The other files of a project: read to know what names mean, and not checked.

`quickfit check train.py` is to say of `train.py` what `quickfit check .` says of it, also where a
hook or an editor names single files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from quickfit.checking.paths import is_skipped

# What lies at the top of a project.
MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
# Folders of data have millions of entries; nobody waits for them to be listed.
MAX_ENTRIES = 10_000
MAX_FILES = 1_000


def companions(files: Sequence[str]) -> list[str]:
    """Return the Python files of the projects that some files belong to, the nearest first."""
    found: dict[str, None] = {}
    own = dict.fromkeys(os.path.dirname(os.path.abspath(file)) for file in files)
    tops = dict.fromkeys(_top(folder) for folder in own)
    for folder in dict.fromkeys((*own, *tops)):
        for path in _below(folder):
            if len(found) >= MAX_FILES:
                return list(found)
            found[path] = None
    return list(found)


def _top(folder: str) -> str:
    """Return the folder of the project around a folder; itself, where nothing marks one."""
    above = (Path(folder), *Path(folder).parents)
    marked = (str(each) for each in above if any((each / mark).exists() for mark in MARKS))
    return next(marked, folder)


def _below(folder: str) -> Iterator[str]:
    """Yield the Python files below a folder, level by level, until enough was looked at."""
    waiting, seen = [folder], 0
    for each in waiting:
        for entry in _entries(each, MAX_ENTRIES - seen):
            seen += 1
            if entry.is_dir(follow_symlinks=False):
                if not is_skipped(entry):
                    waiting.append(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path
        if seen >= MAX_ENTRIES:
            return


def _entries(folder: str, limit: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listed:
            found = [entry for _, entry in zip(range(limit), listed, strict=False)]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)
