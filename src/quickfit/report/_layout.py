"""Lines made of styled spans: wrapping, hanging indents and two columns, for any width."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

INDENT = "   "
# Narrower than this, two columns side by side are unreadable and are put below each other.
MIN_COLUMNS_WIDTH = 76
# A column narrower than this breaks nearly every word.
MIN_TEXT_WIDTH = 16
# A space at which a line may end: never between a number and its unit.
_BREAK = re.compile(r"(?<!\d) | (?!(?:%|s|ms|µs|kB|MB|GB|min|h)(?:\W|$))")


@dataclass(frozen=True)
class Span:
    """A piece of a line in one style, in the words of rich (`bold red`)."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def cells(text: str) -> int:
    """Return how many terminal cells `text` takes; some characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def wrap(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width` cells, broken at spaces where there are some."""
    from rich.cells import chop_cells

    width = max(width, MIN_TEXT_WIDTH)
    lines = [""]
    for word in _BREAK.split(text):
        for piece in chop_cells(word, width) if cells(word) > width else [word]:
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if cells(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    return lines


def paragraph(text: str, width: int, *, lead: Span, style: str = "") -> list[Line]:
    """Return `text` wrapped behind `lead`, its further lines starting where it starts."""
    start = cells(lead.text)
    first, *rest = wrap(text, width - start)
    hanging = Span(" " * start)
    return [(lead, Span(first, style)), *((hanging, Span(line, style)) for line in rest)]


def columns(left: Span, right: Span, width: int, *, lead: Span, number: str = "") -> list[Line]:
    """Return two texts side by side, or below each other where that does not fit.

    `number` stands in front of the right text, whose further lines start behind it.
    """
    if not (right.text or number):
        return paragraph(left.text, width, lead=lead, style=left.style)
    room = width - _column(width)
    widest = max(map(cells, _BREAK.split(right.text)))
    if width < MIN_COLUMNS_WIDTH or cells(number) + widest > room:
        return _stacked(left, right, width, lead=lead, number=number)
    lefts = wrap(left.text, _column(width) - cells(lead.text) - 2)
    rights = _hanging(right, room, lead=Span(number, right.style))
    return [
        _side_by_side(lead if n == 0 else Span(" " * cells(lead.text)), one, other, width)
        for n, (one, other) in enumerate(
            itertools.zip_longest((Span(t, left.style) for t in lefts), rights)
        )
    ]


def _column(width: int) -> int:
    """Return where the second column starts: a little right of the middle."""
    return width * 53 // 100


def _side_by_side(lead: Span, left: Span | None, right: Line | None, width: int) -> Line:
    left = left or Span("")
    gap = _column(width) - cells(lead.text) - cells(left.text)
    return (lead, left, Span(" " * gap), *(right or ()))


def _stacked(left: Span, right: Span, width: int, *, lead: Span, number: str) -> list[Line]:
    gap = width - sum(map(cells, (lead.text, left.text, number, right.text)))
    if gap >= 2:
        return [(lead, left, Span(" " * gap), Span(number + right.text, right.style))]
    below = Span(" " * cells(lead.text) + "  " + number, right.style)
    return [
        *paragraph(left.text, width, lead=lead, style=left.style),
        *_hanging(right, width, lead=below),
    ]


def _hanging(text: Span, width: int, *, lead: Span) -> list[Line]:
    if " " not in text.text:
        # A single word is a place, to be clicked or copied: the terminal may wrap it, not we.
        return [(lead, text)]
    return paragraph(text.text, width, lead=lead, style=text.style)


def painted(line: Line, *, colored: bool) -> str:
    """Return a line as text, with the escape codes of its styles when `colored`."""
    if not colored:
        return "".join(span.text for span in line).rstrip()
    from rich.color import ColorSystem
    from rich.style import Style

    # The 16 standard colours follow the user's theme, light or dark.
    return "".join(
        Style.parse(span.style).render(span.text, color_system=ColorSystem.STANDARD)
        if span.style
        else span.text
        for span in line
    ).rstrip(" ")
