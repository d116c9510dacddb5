"""Keeps what a native library prints away from the user's screen, and hands it over on failure."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from typing import IO, TextIO

_STDOUT, _STDERR = 1, 2
# More than this is a dump of the program, not a message.
_MOST_BYTES = 1_000_000
# Two threads would each put back what the other one had put in place.
_ONE_AT_A_TIME = threading.RLock()


class CapturedOutput:
    """What was printed while it was quiet; known when the quiet is over."""

    def __init__(self) -> None:
        self.text = ""


class _Stream(io.TextIOBase):
    """Stands in for one of Python's streams, and leads to it again when the quiet is over.

    Loggers that are made meanwhile, such as TensorFlow's, keep it for ever.
    """

    def __init__(self, caught: IO[bytes], real: TextIO | None) -> None:
        self.is_over = False
        self._caught = caught
        self._real = real

    def write(self, text: str) -> int:
        """Write where it belongs now."""
        if not self.is_over:
            self._caught.write(text.encode("utf-8", "replace"))
        elif self._real is not None:
            self._real.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what it writes to."""
        if not self.is_over:
            self._caught.flush()
        elif self._real is not None:
            self._real.flush()


@contextlib.contextmanager
def capture_native_output() -> Iterator[CapturedOutput]:
    """Catch everything that is printed meanwhile, from Python and from native code.

    The converter and the runtime write to the file descriptors themselves, so these are what is
    redirected. They belong to the whole process: what another thread prints at the same moment is
    caught too.
    """
    said = CapturedOutput()
    with _ONE_AT_A_TIME, tempfile.TemporaryFile(buffering=0) as caught:
        try:
            with _redirect_streams(caught), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield said
        finally:
            caught.seek(0)
            said.text = caught.read(_MOST_BYTES).decode("utf-8", "replace")


@contextlib.contextmanager
def _redirect_streams(caught: IO[bytes]) -> Iterator[None]:
    """Point both outputs, and Python's names of them, at a file."""
    _flush_streams()
    kept = [(number, _copy_of(number)) for number in (_STDOUT, _STDERR)]
    try:
        for number, copy in kept:
            if copy is not None:
                os.dup2(caught.fileno(), number)
        # In a notebook Python's own streams are no file descriptors.
        out, err = _Stream(caught, sys.stdout), _Stream(caught, sys.stderr)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                yield
        finally:
            out.is_over = err.is_over = True
    finally:
        _flush_streams()
        for number, copy in kept:
            if copy is not None:
                os.dup2(copy, number)
                os.close(copy)


def _copy_of(number: int) -> int | None:
    try:
        return os.dup(number)
    except OSError:
        return None  # closed, as in a daemon: there is nobody to keep quiet


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        # None under pythonw; closed, or a pipe without a reader: not ours to report here.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
