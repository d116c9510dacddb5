"""Markdown that is safe by construction: text stays text, code stays code.

What Markdown or HTML would read is escaped, code stands in fences longer than any in it, and
nobody is mentioned by an `@`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_CODE = re.compile(r"`([^`]+)`")
_MARKUP = re.compile(r"[\\`*_\[\]#|~]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def prose(said: str) -> str:
    """Return a sentence whose `code` marks stay, and in which nothing else is markup."""
    parts = _CODE.split(said)
    return "".join(code(part) if n % 2 else _plain(part) for n, part in enumerate(parts))


def _plain(said: str) -> str:
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", said)
    # A bare address would become a link.
    return "".join(_ENTITIES.get(char, char) for char in escaped).replace("://", ":&#47;/")


def code(said: str) -> str:
    """Return one line of code."""
    # In a table a bar ends the cell, also in code.
    return f"`{said.replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def fenced(lines: Sequence[str], language: str) -> list[str]:
    """Return lines of code behind each other; a fence in them ends nothing."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [f"{fence}{language}", *lines, fence]


def table(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the titles, then its rows; a cell may have several lines."""
    for number, row in enumerate(lines):
        cells = ["<br>".join(map(prose, cell.split("\n"))) for cell in row]
        yield f"| {' | '.join(cells)} |"
        if not number:
            yield f"| {' | '.join('---' for _ in row)} |"
