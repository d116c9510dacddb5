"""A result as text for a terminal: the table with the front marked, and what to do now."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from quickfit import units
from quickfit.compression.shrinking.cells import FRONT_MARK, Column, cells, columns, reasons
from quickfit.compression.shrinking.rows import Row, time_of
from quickfit.compression.shrinking.shrunk import Shrunk

_GAP = "  "
_LEFT = ("candidate", "verdict")


def text(shrunk: Shrunk, width: int = 100) -> str:
    """Return the whole answer."""
    if not shrunk.rows:
        return "Interrupted before anything was made."
    lines = [f"target: {shrunk.target.text}", "", *table(shrunk, width)]
    lines.append(f"{FRONT_MARK} on the front: nothing else is better in every respect")
    paragraphs = [*reasons(shrunk), "", *_chosen(shrunk), *shrunk.notes, *_end(shrunk)]
    return "\n".join([*lines, *_wrapped(paragraphs, width)])


def table(shrunk: Shrunk, width: int | None = None) -> list[str]:
    """Return the table, a line per row; without the less important columns if it is too wide."""
    lines = _lines(shrunk, columns(shrunk))
    if width is None or max(map(len, lines)) <= width:
        return lines
    return _lines(shrunk, [column for column in columns(shrunk) if not column.is_extra])


def _lines(shrunk: Shrunk, some: list[Column]) -> list[str]:
    heads = [column.head for column in some]
    body = cells(shrunk, some)
    widths = [max(map(len, column)) for column in zip(heads, *body, strict=True)]
    marks = [FRONT_MARK if row.is_on_front else " " for row in shrunk.rows]
    return [
        f"{mark} {_line(line, heads, widths)}".rstrip()
        for mark, line in zip([" ", *marks], [heads, *body], strict=True)
    ]


def _line(line: list[str], heads: list[str], widths: list[int]) -> str:
    return _GAP.join(
        cell.ljust(width) if head in _LEFT else cell.rjust(width)
        for cell, head, width in zip(line, heads, widths, strict=True)
    )


def headline(shrunk: Shrunk) -> str:
    """Return what was chosen, and what it brings."""
    if shrunk.chosen is None:
        return "Chosen: nothing."
    row = shrunk.row(shrunk.chosen)
    gains = ", ".join(_gains(row, shrunk))
    return f"Chosen: {row.name} ({row.title}){': ' if gains else ''}{gains}."


def _chosen(shrunk: Shrunk) -> Iterator[str]:
    if shrunk.chosen is not None:
        yield headline(shrunk)


def _gains(row: Row, shrunk: Shrunk) -> Iterator[str]:
    new, old = row.figures, shrunk.original.figures
    times = [time_of(one, for_training=shrunk.for_training) for one in (new, old)]
    what = "training step" if shrunk.for_training else "prediction"
    if times[0] and times[1]:
        yield f"{units.factor(times[1] / times[0])} as fast ({what}: {units.seconds(times[0])})"
    if new.file_bytes and old.file_bytes:
        yield f"{units.share(new.file_bytes / old.file_bytes)} of the size"


def _end(shrunk: Shrunk) -> Iterator[str]:
    yield f"It took {units.seconds(shrunk.took_s)}."
    if shrunk.out is not None:
        found = [one for one in (shrunk.keras_path, shrunk.litert_path) if one is not None]
        if found:
            yield f"Written: {', '.join(map(str, found))}"
        yield f"Report and chart: {shrunk.out / 'report.md'}, {shrunk.out / 'chart.svg'}"


def _wrapped(paragraphs: list[str], width: int) -> Iterator[str]:
    for one in paragraphs:
        if not one:
            yield ""
        else:
            yield from textwrap.wrap(one, width, break_long_words=False, break_on_hyphens=False)
