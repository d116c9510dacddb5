"""A line of code with a mark under a part of it, in the cells of a terminal.

Tabs are widened, what does not print is shown as an escape, wide characters take two cells, and of
a long line only the part around the mark is shown.
"""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.report.text import ELLIPSIS, one_line

TAB = 4
MARK = "^"
# What is shown of a long line in front of the mark.
LEAD = 30


@dataclass(frozen=True)
class Excerpt:
    """What is shown of a line, and the marks that stand under it."""

    code: str
    marks: str


def excerpt(line: str, column: int, end_column: int, width: int) -> Excerpt:
    """Return a line that fits into a width, with marks under some of its columns.

    Args:
        line: without its line end.
        column: the first that is marked, from 1.
        end_column: the one behind the last; one column is marked where it is not further right.
        width: in cells.
    """
    begin = min(max(column - 1, 0), len(line))
    end = max(min(end_column - 1, len(line)), begin + 1)
    first = _first(line, begin, width)
    code, position, marked = (ELLIPSIS if first else ""), -1, 0
    for number in range(first, len(line)):
        piece = _piece(line[number], _cells(code))
        if _cells(code) + _cells(piece) > width - 1:
            code += ELLIPSIS
            break
        if number == begin:
            position = _cells(code)
        if begin <= number < end:
            marked += _cells(piece)
        code += piece
    if position < 0:
        position = _cells(code)
    return Excerpt(code, " " * position + MARK * max(marked, 1))


def _first(line: str, begin: int, width: int) -> int:
    """Return the first character that is shown: the line's own where the mark is near it."""
    is_near = sum(_cells(_piece(char, 0)) for char in line[: min(begin, width)]) < width * 2 // 3
    return 0 if begin < width and is_near else max(0, begin - LEAD)


def _piece(char: str, at: int) -> str:
    """Return what a character is shown as, where it begins at a cell."""
    return " " * (TAB - at % TAB) if char == "\t" else one_line(char)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)
