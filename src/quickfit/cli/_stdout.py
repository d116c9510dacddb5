"""Writes what a command answers to stdout, also when nobody reads it to the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO


def answer(write: Callable[[TextIO], None]) -> None:
    """Let `write` write to stdout; a reader that has gone (`| head -1`) ends it quietly."""
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()


def answer_text(text: str) -> None:
    """Write `text` to stdout in the characters its encoding has."""
    from quickfit.report.text import encodable

    answer(lambda stream: _write(stream, encodable(text, stream.encoding)))


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)


def _forget_stdout() -> None:
    # The interpreter flushes stdout once more at exit, and would complain about the pipe then.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
