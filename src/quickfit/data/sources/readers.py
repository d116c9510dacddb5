"""Reads one image of a source: a file, or a piece of an archive. Can be sent to other processes."""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import Protocol

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.folder import explain, kind
from quickfit.data.sources.listing import MAX_FILE_BYTES
from quickfit.errors import PipelineError
from quickfit.units import size as bytes_text

# The machine's trouble, not the image's: leaving the image out would lose it.
_MACHINE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}

# Without blocking: a pipe that took the place of a file would be waited for without end.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


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
            raise failure(error, entry.file) from None
        except OSError as error:
            raise failure(error, entry.file) from None
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
            raise failure(error, file) from None

    def size(self, file: str) -> int:
        """Return the size of the archive in bytes."""
        try:
            return os.fstat(self._open(file)).st_size
        except OSError as error:
            raise failure(error, file) from None

    def _open(self, file: str) -> int:
        with self._lock:
            if file not in self._opened:
                self._opened[file] = os.open(file, _FLAGS)
            return self._opened[file]


def failure(error: OSError, file: str) -> SourceImageError:
    """Return what an image that cannot be read is rejected with.

    Raises:
        PipelineError: the trouble is the machine's, and every other image would have it too.
    """
    if error.errno in _MACHINE:
        raise PipelineError(
            f"{file}: cannot be read: {error.strerror}. This is a limit of the machine, not a "
            "fault of the file.\nUse fewer workers, or raise the limit (ulimit -n)."
        ) from None
    return SourceImageError(*explain(error, file))


def _check_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SourceImageError(Reason.UNREADABLE, f"it is {kind(status.st_mode)}")
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
