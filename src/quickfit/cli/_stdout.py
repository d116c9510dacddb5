"""Writes what a command answers to stdout, also when it is closed, full or read by nobody."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TextIO

from quickfit import terminal
from quickfit.errors import QuickfitError


def answer(write: Callable[[TextIO], None]) -> None:
    """Let `write` write to stdout; a reader that has gone (`| head -1`) ends it quietly.

    Raises:
        QuickfitError: what it is sent to cannot take it, such as a full disk.
    """
    if sys.stdout is None:  # closed by who started us: Python itself prints nothing then
        return
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    except OSError as error:
        _forget_stdout()
        raise QuickfitError(
            f"the answer cannot be written to stdout: {error.strerror}.\nSend it somewhere else."
        ) from error


def answer_text(text: str, *, painted: bool = False) -> None:
    """Write `text` to stdout, harmless and in the characters its encoding has.

    Args:
        text: what to write.
        painted: it has colours of ours.
    """
    answer(lambda stream: terminal.write(stream, text, painted=painted))


def answer_json(value: object) -> None:
    """Write a value to stdout as JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    answer_text(f"{terminal.escape_json(text)}\n")


def _forget_stdout() -> None:
    # The interpreter flushes stdout once more at exit, and would complain then.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
