"""Where the answer goes: to stdout, or to a file that is there whole or not at all."""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from quickfit import terminal
from quickfit.errors import UsageError


class Answer:
    """What a command answers.

    Args:
        out: stdout.
        file: a file to write to in its place.

    Raises:
        UsageError: the file cannot be written.
    """

    def __init__(self, out: TextIO, file: Path | None = None) -> None:
        self._out = out
        self._file = file
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            why = "it is a folder" if file.is_dir() else "its folder does not exist"
            raise UsageError(f"--output {file}: cannot be written, because {why}.")

    def write(self, write: Callable[[TextIO], None]) -> None:
        """Let `write` write text."""
        if self._file is None:
            write(self._out)
            return
        text = io.StringIO()
        write(text)
        self.write_bytes(text.getvalue().encode("utf-8", "backslashreplace"))

    def write_text(self, text: str) -> None:
        """Write text in the characters that the stream has."""
        self.write(lambda stream: terminal.write(stream, text))

    def write_bytes(self, data: bytes) -> None:
        """Write a patch as it is, escaped only on a terminal."""
        if self._file is not None:
            _replace(self._file, data)
            return
        terminal.write_patch(self._out, data)


def _replace(file: Path, data: bytes) -> None:
    try:
        if _is_special(file):
            file.write_bytes(data)
            return
        real = os.path.realpath(file)
        handle, aside = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".quickfit-")
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(data)
            os.chmod(aside, _mode(real))
            os.replace(aside, real)
        except OSError:
            os.unlink(aside)
            raise
    except OSError as error:
        raise UsageError(f"--output {file}: cannot be written ({error.strerror}).") from error


def _is_special(file: Path) -> bool:
    """Tell whether it is a pipe or a device, in whose place no file may be put."""
    try:
        return not stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return False


def _mode(file: str) -> int:
    """Return the mode of a file, or the one that a new file would have."""
    try:
        return stat.S_IMODE(os.stat(file).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
