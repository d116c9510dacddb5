"""The files that are checked: those that were named, and those of the project that they need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from quickfit.checking.records import Trouble
from quickfit.errors import UsageError
from quickfit.findings import Span

SUFFIXES = (".py", ".ipynb")
# Other people's code, and what is made from ours. Hidden folders and environments are skipped too.
SKIPPED = frozenset(("node_modules", "__pycache__", "build", "dist", "site-packages"))


def found_files(
    words: Sequence[str], is_excluded: Callable[[str], bool]
) -> tuple[list[str], list[Trouble]]:
    """Return the absolute paths of the files to check, sorted, and the folders that cannot be read.

    A file that was named is always among them, and a folder that was named is always looked into.

    Raises:
        UsageError: something that was named does not exist, or is neither a file nor a folder.
    """
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    troubles: list[Trouble] = []
    for word in words:
        path = os.path.abspath(word)
        if not _is_folder(word):
            files[os.path.realpath(path)] = path
            continue
        for entry in _below(path, is_excluded, troubles):
            kept = links if entry.is_symlink() else files
            kept.setdefault(os.path.realpath(entry.path), entry.path)
    # A link is another name of a file: told only where the file itself is not.
    return sorted({**links, **files}.values()), troubles


def _is_folder(word: str) -> bool:
    try:
        if os.path.isdir(word):
            return True
        os.stat(word)
    except OSError as error:
        what = "the link leads nowhere" if os.path.islink(word) else error.strerror
        raise UsageError(
            f"check: {_shown(word)}: there is no such file or folder ({what}).\n"
            "Name files, notebooks or folders:\n    quickfit check train.py notebooks/ src/"
        ) from error
    except ValueError as error:  # a NUL in it
        raise UsageError(f"check: {word!r}: this is not a path ({error}).") from error
    if not os.path.isfile(word):
        raise UsageError(
            f"check: {_shown(word)}: this is neither a file nor a folder.\n"
            "To check text from a pipe:\n    quickfit check - < train.py"
        )
    return False


def _below(
    folder: str, is_excluded: Callable[[str], bool], troubles: list[Trouble]
) -> Iterator[os.DirEntry[str]]:
    """Yield the Python files and notebooks below a folder; links to folders are not followed."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        troubles.append(Trouble(Span(folder, 0), f"cannot list this folder ({error.strerror})"))
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not is_skipped(entry) and not is_excluded(entry.path):
                yield from _below(entry.path, is_excluded, troubles)
        elif entry.name.endswith(SUFFIXES) and _is_file(entry) and not is_excluded(entry.path):
            yield entry


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Tell whether something can be read: not a link that leads nowhere, as editors leave them."""
    try:
        return entry.is_file()
    except OSError:  # a link in a circle
        return False


def is_skipped(entry: os.DirEntry[str]) -> bool:
    """Tell whether a folder holds what is not the project's own: hidden, installed or built."""
    is_other = entry.name in SKIPPED or entry.name.startswith(".")
    return is_other or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def common_folder(words: Sequence[str]) -> Path:
    """Return the innermost folder that holds everything that was named."""
    paths = [os.path.realpath(word) for word in words]
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in paths]
    return Path(os.path.commonpath(folders) if folders else os.getcwd())


def is_match(path: str, pattern: str, base: str) -> bool:
    """Tell whether a glob means a file: itself, a folder above it, or any of their names.

    Args:
        path: absolute.
        pattern: such as `old`, `notebooks/*.ipynb`, `**/generated`; relative to `base`.
        base: the folder of the configuration.
    """
    wanted = pattern.removeprefix("./").rstrip("/")
    if wanted.startswith("/"):
        names = [path, *map(str, Path(path).parents)]
        return any(fnmatchcase(name, wanted) for name in names)
    parts = os.path.relpath(os.path.realpath(path), os.path.realpath(base)).split(os.sep)
    names = [*parts, *("/".join(parts[:count]) for count in range(2, len(parts) + 1))]
    forms = {wanted, wanted.removeprefix("**/"), wanted.removesuffix("/**")}
    return any(fnmatchcase(name, form) for name in names for form in forms)


def _shown(word: str) -> str:
    return word if word.isprintable() and word else repr(word)


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
        for path in _python_files_below(folder):
            if len(found) >= MAX_FILES:
                return list(found)
            found[path] = None
    return list(found)


def _top(folder: str) -> str:
    """Return the folder of the project around a folder; itself, where nothing marks one."""
    above = (Path(folder), *Path(folder).parents)
    marked = (str(each) for each in above if any((each / mark).exists() for mark in MARKS))
    return next(marked, folder)


def _python_files_below(folder: str) -> Iterator[str]:
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
