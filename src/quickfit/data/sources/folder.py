"""Lists the images below a folder, in the order of their names' bytes."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterator

from quickfit.data.entries import Reason
from quickfit.data.sources.listing import UNKNOWN_LOSS, Gathered
from quickfit.data.sources.names import is_hidden, is_image_name, shown
from quickfit.errors import UsageError

# Links that fan out can name one folder in more ways than there are atoms; a tree that a person
# made does not reach this.
_MAX_WAYS = 64

_Id = tuple[int, int]


def walk(root: str, gathered: Gathered, *, follow_links: bool) -> None:
    """Gather the images below a folder; what cannot be listed is rejected with its reason.

    Raises:
        UsageError: the folder itself cannot be listed.
    """
    try:
        os.scandir(root).close()
    except OSError as error:
        raise UsageError(
            f"{root}: this folder cannot be listed: {error.strerror}.\n"
            "Check its permissions, or give another folder."
        ) from None
    _Walk(root, gathered, follow_links=follow_links).run()


class _Walk:
    def __init__(self, root: str, gathered: Gathered, *, follow_links: bool) -> None:
        self._root = root.rstrip("/") + "/"
        self._gathered = gathered
        self._follow_links = follow_links
        self._ways: Counter[_Id] = Counter()

    def run(self) -> None:
        """Go through the tree without recursion: it may be deeper than Python's stack."""
        open_folders = [(_id(os.stat(self._root)), self._children(""))]
        while open_folders:
            name = next(open_folders[-1][1], None)
            if name is None:
                open_folders.pop()
                continue
            if len(open_folders) == 1:
                self._gathered.folders.append(name)
            above = {identity for identity, _ in open_folders}
            if (identity := self._enter(name, above)) is not None:
                open_folders.append((identity, self._children(name + "/")))

    def _children(self, prefix: str) -> Iterator[str]:
        """Take in the files of a folder and yield the names of its folders, in order."""
        found = []
        try:
            with os.scandir(self._root + prefix) as scan:
                for child in scan:
                    is_folder = self._is_folder(child)
                    if is_hidden(child.name):
                        self._gathered.hidden_folders += is_folder
                        self._gathered.hidden_files += not is_folder
                    else:
                        # `a.jpg` comes before `a/b.jpg`, as in a list of whole paths.
                        key = os.fsencode(child.name) + (b"/" if is_folder else b"")
                        found.append((key, is_folder, child))
        except OSError as error:
            self._reject_folder(prefix.rstrip("/"), error)
        found.sort(key=lambda item: item[0])
        for _, is_folder, child in found:
            name = prefix + child.name
            if is_folder:
                yield name
            else:
                self._take(name, child)

    def _is_folder(self, child: os.DirEntry[str]) -> bool:
        try:
            return child.is_dir(follow_symlinks=self._follow_links)
        except OSError:
            return False  # a link that cannot be followed: told when it is taken

    def _take(self, name: str, child: os.DirEntry[str]) -> None:
        is_image = is_image_name(name)
        if not self._follow_links and child.is_symlink():
            self._gathered.pass_over(name)
            return
        if not is_image and not child.is_symlink():
            self._gathered.pass_over(name)
            return
        try:
            status = child.stat()
        except OSError as error:
            self._reject(name, error)
            return
        if not is_image:
            self._gathered.pass_over(name)
        elif stat.S_ISREG(status.st_mode):
            self._gathered.add(name, status.st_size)
        else:
            self._gathered.reject(name, Reason.UNREADABLE, f"it is {kind(status.st_mode)}")

    def _enter(self, name: str, above: set[_Id]) -> _Id | None:
        try:
            identity = _id(os.stat(self._root + name))
        except OSError as error:
            self._reject_folder(name, error)
            return None
        self._ways[identity] += 1
        if identity in above:
            detail = "it is a link to a folder that it lies in"
        elif self._ways[identity] > _MAX_WAYS:
            detail = f"links lead to this folder in more than {_MAX_WAYS} ways"
        else:
            return identity
        self._gathered.reject(name, Reason.LINK_LOOP, detail)
        return None

    def _reject(self, name: str, error: OSError) -> None:
        reason, detail = explain(error, self._root + name)
        self._gathered.reject(name, reason, detail)

    def _reject_folder(self, name: str, error: OSError) -> None:
        reason, detail = explain(error, self._root + name)
        detail = f"this folder could not be listed ({detail}): {UNKNOWN_LOSS}"
        self._gathered.reject(name, reason, detail)


def explain(error: OSError, path: str) -> tuple[Reason, str]:
    """Return why a file or folder cannot be reached."""
    if error.errno == errno.ELOOP:
        return Reason.LINK_LOOP, "it is a link that leads back to itself"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if os.path.islink(path):
            return (
                Reason.VANISHED,
                f"it is a link to {shown(os.readlink(path))}, which does not exist",
            )
        return Reason.VANISHED, "it is no longer there"
    return Reason.UNREADABLE, error.strerror or str(error)


def kind(mode: int) -> str:
    """Return what something that is no regular file is, in words."""
    if stat.S_ISDIR(mode):
        return "a folder, not a file"
    if stat.S_ISFIFO(mode):
        return "a pipe, not a file"
    if stat.S_ISSOCK(mode):
        return "a socket, not a file"
    return "a device, not a file"


def _id(status: os.stat_result) -> _Id:
    return status.st_dev, status.st_ino
