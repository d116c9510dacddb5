"""Image files on disk: walked below a folder, listed by path, and read."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from quickfit.data.entries import Entry, Reason, Rejection, SourceImageError
from quickfit.data.sources.listing import (
    IMAGE_EXTENSIONS,
    MAX_FILE_BYTES,
    UNKNOWN_LOSS,
    Gathered,
    Listing,
    is_hidden,
    is_image_name,
    name_problem,
    printable_name,
)
from quickfit.errors import PipelineError, UsageError
from quickfit.units import size as bytes_text

# Links that fan out can name one folder in more ways than there are atoms; a tree that a person
# made does not reach this.
_MAX_WAYS = 64

_Id = tuple[int, int]
# The size of a file that is not there; 0 would be an empty one.
_UNKNOWN = -1
# The machine's trouble, not the image's: leaving the image out would lose it.
_MACHINE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
# Without blocking: a pipe that took the place of a file would be waited for without end.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def walk_folder(root: str, gathered: Gathered, *, follow_links: bool) -> None:
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
    _FolderWalk(root, gathered, follow_links=follow_links).run()


class _FolderWalk:
    def __init__(self, root: str, gathered: Gathered, *, follow_links: bool) -> None:
        self._root = root.rstrip("/") + "/"
        self._gathered = gathered
        self._follow_links = follow_links
        self._ways: Counter[_Id] = Counter()

    def run(self) -> None:
        """Go through the tree without recursion: it may be deeper than Python's stack."""
        open_folders = [(_inode_id(os.stat(self._root)), self._children(""))]
        while open_folders:
            name = next(open_folders[-1][1], None)
            if name is None:
                open_folders.pop()
                continue
            if len(open_folders) == 1:
                self._gathered.folders.append(name)
            above = {identity for identity, _ in open_folders}
            if (identity := self._enter_folder(name, above)) is not None:
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
                self._take_entry(name, child)

    def _is_folder(self, child: os.DirEntry[str]) -> bool:
        try:
            return child.is_dir(follow_symlinks=self._follow_links)
        except OSError:
            return False  # a link that cannot be followed: told when it is taken

    def _take_entry(self, name: str, child: os.DirEntry[str]) -> None:
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
            self._gathered.reject(name, Reason.UNREADABLE, f"it is {file_kind(status.st_mode)}")

    def _enter_folder(self, name: str, above: set[_Id]) -> _Id | None:
        try:
            identity = _inode_id(os.stat(self._root + name))
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
        reason, detail = explain_os_error(error, self._root + name)
        self._gathered.reject(name, reason, detail)

    def _reject_folder(self, name: str, error: OSError) -> None:
        reason, detail = explain_os_error(error, self._root + name)
        detail = f"this folder could not be listed ({detail}): {UNKNOWN_LOSS}"
        self._gathered.reject(name, reason, detail)


def explain_os_error(error: OSError, path: str) -> tuple[Reason, str]:
    """Return why a file or folder cannot be reached."""
    if error.errno == errno.ELOOP:
        return Reason.LINK_LOOP, "it is a link that leads back to itself"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if os.path.islink(path):
            return (
                Reason.VANISHED,
                f"it is a link to {printable_name(os.readlink(path))}, which does not exist",
            )
        return Reason.VANISHED, "it is no longer there"
    return Reason.UNREADABLE, error.strerror or str(error)


def file_kind(mode: int) -> str:
    """Return what something that is no regular file is, in words."""
    if stat.S_ISDIR(mode):
        return "a folder, not a file"
    if stat.S_ISFIFO(mode):
        return "a pipe, not a file"
    if stat.S_ISSOCK(mode):
        return "a socket, not a file"
    return "a device, not a file"


def _inode_id(status: os.stat_result) -> _Id:
    return status.st_dev, status.st_ino


@dataclass
class PathLister:
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
                    detail = f"it is {file_kind(status.st_mode)}"
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
            self.gathered.reject(name, *explain_os_error(error, file))
        else:
            detail = name_problem(name) or "no file can have this name"
            self.gathered.reject(name, Reason.BAD_NAME, detail)


def path_names(paths: Iterable[Any], column: str | None = None) -> list[str]:  # Any: checked
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
    message = (
        f"none of the {len(names):,} images of the list is there. The first is "
        f"{printable_name(first)}"
    )
    if not os.path.isabs(first):
        message += f", looked for in {folder}"
    return f"{message}.\n{_root_hint(first, root)}"


def _root_hint(first: str, root: str) -> str:
    for extension in IMAGE_EXTENSIONS:
        if os.path.exists(os.path.join(root, first + extension)):
            return f"There is {printable_name(first)}{extension}: write names with their endings."
    if "\\" in first and os.path.exists(os.path.join(root, first.replace("\\", "/"))):
        return "The paths have backslashes: write them with `/`."
    if os.path.isabs(first):
        return "Were the files moved? Correct the paths."
    if os.path.exists(first):
        return "It is there in the working directory: --root . (root='.')"
    return "Give the folder that the paths begin at: --root DIR (root=…)"


class Reader(Protocol):
    """What a process needs of a source to read its images; small when pickled."""

    def read(self, entry: Entry) -> bytes:
        """Return the image's file as it is.

        Raises:
            SourceImageError: it is gone or cannot be read.
        """
        ...


class FileReader:
    """Reads images that are files of their own."""

    def read(self, entry: Entry) -> bytes:
        """Return the file as it is.

        Raises:
            SourceImageError: it is gone or cannot be read.
        """
        try:
            descriptor = os.open(entry.file, _FLAGS)
            try:
                status = os.fstat(descriptor)
                _check_file(status)
                return _read_whole(descriptor, 0, status.st_size)
            finally:
                os.close(descriptor)
        except FileNotFoundError as error:
            if entry.size == 0 and not os.path.islink(entry.file):  # nor was it when it was listed
                raise SourceImageError(Reason.VANISHED, "it does not exist") from None
            raise read_failure(error, entry.file) from None
        except OSError as error:
            raise read_failure(error, entry.file) from None
        except ValueError as error:  # a null byte in the path
            raise SourceImageError(Reason.BAD_NAME, str(error)) from None


class Archive:
    """An archive opened once per process, read by any number of threads at the same time."""

    def __init__(self) -> None:
        self._opened: dict[str, int] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Archive], tuple[()]]:
        return type(self), ()  # another process opens it for itself

    def __del__(self) -> None:
        for descriptor in self._opened.values():
            os.close(descriptor)

    def piece(self, file: str, offset: int, length: int) -> bytes:
        """Return the bytes at an offset; fewer where the archive ends.

        Raises:
            SourceImageError: the archive cannot be read.
        """
        try:
            descriptor = self._opened.get(file)
            if descriptor is None:
                descriptor = self._open(file)
            return _read_whole(descriptor, offset, length)
        except OSError as error:
            raise read_failure(error, file) from None

    def size(self, file: str) -> int:
        """Return the size of the archive in bytes."""
        try:
            return os.fstat(self._open(file)).st_size
        except OSError as error:
            raise read_failure(error, file) from None

    def _open(self, file: str) -> int:
        with self._lock:
            if file not in self._opened:
                self._opened[file] = os.open(file, _FLAGS)
            return self._opened[file]


def read_failure(error: OSError, file: str) -> SourceImageError:
    """Return what an image that cannot be read is rejected with.

    Raises:
        PipelineError: the trouble is the machine's, and every other image would have it too.
    """
    if error.errno in _MACHINE:
        raise PipelineError(
            f"{file}: cannot be read: {error.strerror}. This is a limit of the machine, not a "
            "fault of the file.\nUse fewer workers, or raise the limit (ulimit -n)."
        ) from None
    return SourceImageError(*explain_os_error(error, file))


def _check_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SourceImageError(Reason.UNREADABLE, f"it is {file_kind(status.st_mode)}")
    if status.st_size > MAX_FILE_BYTES:
        raise SourceImageError(Reason.TOO_LARGE, f"it has {bytes_text(status.st_size)}")


def _read_whole(descriptor: int, offset: int, length: int) -> bytes:
    """Read until `length`: one call gives at most 2 GB, and on some file systems less."""
    content = os.pread(descriptor, length, offset)
    if len(content) == length or not content:
        return content
    pieces = [content]
    read = len(content)
    while read < length and (content := os.pread(descriptor, length - read, offset + read)):
        pieces.append(content)
        read += len(content)
    return b"".join(pieces)


def sorted_order(rejected: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """Return rejections sorted by name: the same source gives the same list."""
    return tuple(sorted(rejected, key=lambda item: (item.name, item.reason, item.detail)))


@dataclass(frozen=True, repr=False)
class ImageSource:
    """Where images come from, listed.

    Args:
        where: the folder, archive, table or list, as the user gave it.
        kind: "folder", "zip", "tar", "table" or "list".
        entries: all images; a folder's and an archive's sorted by name, a list's as it was given.
        classes: the name of each label; empty without labels.
        rejected: what cannot be used, sorted by name.
        notes: what a person should know of the listing, one sentence each.
        other_files: how many files are no images by their names.
    """

    where: str
    kind: str
    entries: Listing
    classes: tuple[str, ...]
    rejected: tuple[Rejection, ...]
    notes: tuple[str, ...]
    other_files: int
    _reader: Reader

    def read(self, entry: Entry) -> bytes:
        """Return the image's file as it is.

        Raises:
            SourceImageError: it is gone or cannot be read.
        """
        return self._reader.read(entry)

    def reader(self) -> Reader:
        """Return what reads entries, without the list of them: small enough for every worker."""
        return self._reader

    @property
    def class_counts(self) -> tuple[int, ...]:
        """How many images each class has."""
        counts = Counter(self.entries.labels or ())
        return tuple(counts[label] for label in range(len(self.classes)))

    def __repr__(self) -> str:
        count = len(self.entries)
        text = f"{self.kind} {self.where}: {count:,} image{'s' if count != 1 else ''}"
        if self.classes:
            text += f" in {len(self.classes):,} class{'es' if len(self.classes) != 1 else ''}"
        if self.rejected:
            text += f", {len(self.rejected):,} left out"
        return f"<{text}>"
