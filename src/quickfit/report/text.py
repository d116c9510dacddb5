"""Makes text out of a recording harmless and short, for one line of a report.

`terminal` escapes what could steer a terminal; here line breaks go too, and what is too long ends
in an ellipsis.
"""

import os
import textwrap
from pathlib import PurePath

from quickfit import terminal

# A sentence that does not fit in six lines of a report is not read.
MAX_PROSE = 500
MAX_NAME = 160
MAX_CODE_WIDTH = 200
MAX_CODE_LINES = 30

ELLIPSIS = "…"


def one_line(text: str, limit: int = MAX_NAME) -> str:
    """Return `text` as one harmless line of at most `limit` characters."""
    return clip(_escape(text[: limit + 1]), limit)


def prose(text: str, limit: int = MAX_PROSE) -> str:
    """Return a sentence as one harmless line; line breaks and runs of spaces become a space."""
    return one_line(" ".join(text.split()), limit)


def code(*blocks: str, most: int = MAX_CODE_LINES) -> tuple[tuple[str, ...], ...]:
    """Return blocks of source as harmless lines, with the indent they share taken off.

    Blocks of one change are given together, so that their lines stay aligned. Of a block with
    more lines than `most`, the first ones are returned.
    """
    lines = [_code_lines(block, most) for block in blocks]
    # textwrap.dedent would also touch lines of white space only, which are empty here.
    shared = textwrap.dedent("\n".join(line for block in lines for line in block)).split("\n")
    result, start = [], 0
    for block in lines:
        result.append(tuple(shared[start : start + len(block)]))
        start += len(block)
    return tuple(result)


def _code_lines(block: str, most: int) -> list[str]:
    lines = block.expandtabs(4).replace("\r\n", "\n").strip("\n").split("\n") if block else []
    kept = [one_line(line.rstrip(), MAX_CODE_WIDTH) for line in lines[:most]]
    return [*kept, ELLIPSIS] if len(lines) > most else kept


def path(file: str, *, limit: int = MAX_NAME) -> str:
    """Return a file's name as one looks for it: relative when below the working directory.

    A name that is too long loses its beginning, because its end says which file it is.
    """
    shown = _escape(_relative(file)[-limit - 1 :])
    return shown if len(shown) <= limit else ELLIPSIS + shown[1 - limit :]


def _relative(file: str) -> str:
    try:
        return str(PurePath(file).relative_to(os.getcwd()))
    except (ValueError, OSError):  # not below it, or the working directory was removed
        return file


def clip(text: str, limit: int) -> str:
    """Return `text`, cut to `limit` characters with an ellipsis at the end when longer."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def _escape(text: str) -> str:
    return terminal.escape(text, keep="")
