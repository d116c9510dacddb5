"""The lines quickfit itself writes while a script runs: whole, prefixed, on stderr.

The script owns stdout and shares stderr with us. Each line is one `write`, so that it never
lands in the middle of a line of the script's.
"""

from __future__ import annotations

import os
import select
import stat
import sys

from quickfit.terminal import escape

STDERR = 2
PREFIX = "quickfit: "
# A reader that stopped reading must not keep us from ending as the script ended.
_FULL_PIPE_S = 5.0


def say(text: str, *, mid_run: bool = False) -> None:
    """Write every line of `text` to stderr as a line of quickfit's.

    Args:
        text: what to say; characters that could control a terminal are escaped.
        mid_run: the script may have left a line unfinished (a progress bar, the `^C` of the
            terminal): start a new one.
    """
    start = "\n" if mid_run and not _is_at_line_start() else ""
    for line in text.splitlines():
        write(f"{start}{PREFIX}{escape(line, keep='')}\n")
        start = ""


def write(text: str) -> None:
    """Write all of `text` to stderr; a closed stderr is nobody's problem."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    rest = text.encode(encoding, "backslashreplace")
    while rest:
        try:
            rest = rest[os.write(STDERR, rest) :]
        except BlockingIOError:  # the script made the shared stderr non-blocking
            if not select.select([], [STDERR], [], _FULL_PIPE_S)[1]:
                return
        except OSError:
            return


def _is_at_line_start() -> bool:
    """Tell whether the next byte surely begins a line: only a file shows what was written last.

    An empty line too many in a pipe is better than a verdict inside a progress bar.
    """
    try:
        facts = os.fstat(STDERR)
        if not stat.S_ISREG(facts.st_mode):
            return False
        # It may be open for writing only, and read at a place of our own.
        with open(f"/dev/fd/{STDERR}", "rb", buffering=0) as file:
            return not facts.st_size or os.pread(file.fileno(), 1, facts.st_size - 1) == b"\n"
    except OSError:
        return False
