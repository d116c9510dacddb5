"""Makes text out of a recording harmless and short: nothing in it can steer a terminal.

File names, source lines and messages in a recording were written by someone else. What
does not print (control characters, escape sequences, bidirectional overrides, invisible
spaces) is shown as a Python escape such as `\\x1b`, and what is too long ends in an ellipsis.
"""

import os
import textwrap
import unicodedata
from pathlib import PurePath

# A sentence that does not fit in six lines of a report is not read.
MAX_PROSE = 500
MAX_NAME = 160
MAX_CODE_WIDTH = 200
MAX_CODE_LINES = 30
# Scripts that stack marks use up to three; a pile of them paints over the lines around it.
MAX_COMBINING = 3

ELLIPSIS = "…"
_ASCII = str.maketrans({"×": "x", "µ": "u", "·": "-", "–": "-", "—": "-", "…": "...", "±": "+-"})


def one_line(text: str, limit: int = MAX_NAME) -> str:
    """Return `text` as one harmless line of at most `limit` characters."""
    return clip(_escaped(text[: limit + 1]), limit)


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
    shown = _escaped(_relative(file)[-limit - 1 :])
    return shown if len(shown) <= limit else ELLIPSIS + shown[1 - limit :]


def _relative(file: str) -> str:
    try:
        return str(PurePath(file).relative_to(os.getcwd()))
    except (ValueError, OSError):  # not below it, or the working directory was removed
        return file


def clip(text: str, limit: int) -> str:
    """Return `text`, cut to `limit` characters with an ellipsis at the end when longer."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def encodable(text: str, encoding: str | None) -> str:
    """Return `text` in characters that `encoding` has, so that writing it cannot fail."""
    try:
        text.encode(encoding or "utf-8")
    except LookupError:
        encoding = "ascii"
    except UnicodeEncodeError:
        pass
    else:
        return text
    known = encoding or "utf-8"
    return text.translate(_ASCII).encode(known, "backslashreplace").decode(known)


def _escaped(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    shown, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        is_plain = char.isprintable() and marks <= MAX_COMBINING
        shown.append(char if is_plain else char.encode("unicode_escape").decode("ascii"))
    return "".join(shown)
