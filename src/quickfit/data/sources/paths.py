"""Lists images from a list of their paths, in the order it was given in."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from quickfit.data.entries import Reason
from quickfit.data.sources.folder import explain, kind
from quickfit.data.sources.listing import Gathered
from quickfit.data.sources.names import IMAGE_EXTENSIONS, oddity, shown
from quickfit.errors import UsageError

# The size of a file that is not there; 0 would be an empty one.
_UNKNOWN = -1


@dataclass
class Paths:
    """The files of a list.

    Args:
        root: the folder that relative paths begin at.
        gathered: the images and what is rejected.
        files: the path to open of each image.
        kept: the position in the list of each image: where labels of the list belong.
    """

    root: str
    gathered: Gathered
    files: list[str] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)

    def take(self, names: list[str]) -> None:
        """Look at every file; one that is not there is listed, and fails when it is read.

        Raises:
            UsageError: none of them is there.
        """
        missing = 0
        for position, name in enumerate(names):
            file = os.path.join(self.root, name)
            try:
                status = os.stat(file)
            except FileNotFoundError:
                missing += 1
                size = _UNKNOWN
            except (OSError, ValueError) as error:
                self._reject(name, file, error)
                continue
            else:
                if not stat.S_ISREG(status.st_mode):
                    detail = f"it is {kind(status.st_mode)}"
                    self.gathered.reject(name, Reason.UNREADABLE, detail)
                    continue
                size = status.st_size
            if self.gathered.add(name, size):
                self.gathered.sizes[-1] = max(size, 0)
                self.files.append(file)
                self.kept.append(position)
        if missing and missing == len(names):
            raise UsageError(_nothing_there(names, self.root))

    def _reject(self, name: str, file: str, error: OSError | ValueError) -> None:
        if isinstance(error, OSError):
            self.gathered.reject(name, *explain(error, file))
        else:
            detail = oddity(name) or "no file can have this name"
            self.gathered.reject(name, Reason.BAD_NAME, detail)


def as_names(paths: Iterable[Any], column: str | None = None) -> list[str]:  # Any: checked
    """Return paths as text; bytes that are no UTF-8 are kept as surrogates.

    Args:
        paths: text, bytes or path objects.
        column: the table's column that they come from, for messages.

    Raises:
        UsageError: one of them is no path.
    """
    names = []
    for position, path in enumerate(paths):
        if not isinstance(path, str | bytes | os.PathLike) or not os.fspath(path):
            raise UsageError(_no_path(path, position, column))
        names.append(os.fsdecode(path))
    return names


def _no_path(path: object, position: int, column: str | None) -> str:
    if column is not None:
        return (
            f"{column}: the value of row {position + 1} is {path!r}, not a path.\n"
            "Give every row the path of its image, or leave the row out."
        )
    return (
        f"the list of paths: item {position} is {path!r}, not a path.\n"
        "Give a list of paths, and the labels beside it: labels=[…]."
    )


def _nothing_there(names: list[str], root: str) -> str:
    first = names[0]
    folder = os.path.abspath(root)
    message = f"none of the {len(names):,} images of the list is there. The first is {shown(first)}"
    if not os.path.isabs(first):
        message += f", looked for in {folder}"
    return f"{message}.\n{_hint(first, root)}"


def _hint(first: str, root: str) -> str:
    for extension in IMAGE_EXTENSIONS:
        if os.path.exists(os.path.join(root, first + extension)):
            return f"There is {shown(first)}{extension}: write names with their endings."
    if "\\" in first and os.path.exists(os.path.join(root, first.replace("\\", "/"))):
        return "The paths have backslashes: write them with `/`."
    if os.path.isabs(first):
        return "Were the files moved? Correct the paths."
    if os.path.exists(first):
        return "It is there in the working directory: --root . (root='.')"
    return "Give the folder that the paths begin at: --root DIR (root=…)"
