"""What can be done with changes: are two in conflict, both in one, a text with edits made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quickfit.findings import Change, Edit, Position

__all__ = [
    "Change",
    "Edit",
    "Position",
    "is_in_conflict",
    "is_inside",
    "line_end",
    "lines_of",
    "merged",
    "patched",
]


def is_in_conflict(edits: Iterable[Edit], others: Iterable[Edit]) -> bool:
    """Tell whether two sets of edits touch the same text in different ways."""
    return any(_collide(edit, other) for edit in edits for other in others if edit != other)


def merged(changes: Sequence[Change]) -> tuple[Edit, ...]:
    """Return the edits of changes that are in no conflict; what two of them do alike, once."""
    return tuple(sorted({edit for change in changes for edit in change.edits}))


def _collide(edit: Edit, other: Edit) -> bool:
    if edit.file != other.file:
        return False
    if edit.is_insertion and other.is_insertion:
        return False  # both stand, one behind the other
    if edit.is_insertion or other.is_insertion:
        point, span = (edit, other) if edit.is_insertion else (other, edit)
        return span.begin < point.begin < span.end
    return edit.begin < other.end and other.begin < edit.end


def patched(text: str, edits: Iterable[Edit]) -> str:
    """Return a file's text with edits made; line ends stay what they are, new ones are the same.

    The text may have any line ends, also mixed ones; a line is what Python takes for one.
    """
    lines = lines_of(text)
    # From the end, so that earlier positions stay right; of insertions at one place the first
    # one stays first.
    for edit in sorted(edits, key=lambda e: (e.begin, e.end, e.text), reverse=True):
        _replace(lines, edit)
    return "".join(lines)


def is_inside(edit: Edit, text: str) -> bool:
    """Tell whether a text has the place of an edit; the one behind its last line end counts."""
    is_span = edit.begin <= edit.end and min(edit.begin[1], edit.end[1]) >= 0
    return is_span and 1 <= edit.begin[0] <= len(lines_of(text)) + 1


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends, as Python counts them: a form feed ends none."""
    lines, begin, at = [], 0, 0
    while at < len(text):
        width = 2 if text.startswith("\r\n", at) else 1
        if text[at] in "\r\n":
            lines.append(text[begin : at + width])
            begin = at + width
        at += width
    return [*lines, text[begin:]] if begin < len(text) else lines


def line_end(text: str) -> str:
    """Return the line end that a text uses first; `\\n` where it has none."""
    first = next(iter(lines_of(text)), "")
    return first[len(first.rstrip("\r\n")) :] or "\n"


def _replace(lines: list[str], edit: Edit) -> None:
    """Make one edit in place; `lines` is counted from the first line that may still change."""
    if edit.begin[0] > len(lines):  # behind the last line end
        lines.append("")
    first, last = edit.begin[0] - 1, min(edit.end[0], len(lines)) - 1
    head = lines[first][: edit.begin[1]]
    tail = lines[last][edit.end[1] :] if edit.end[0] <= len(lines) else ""
    end = line_end(lines[first] if lines[first].endswith(("\n", "\r")) else "".join(lines))
    lines[first : last + 1] = [head + edit.text.replace("\n", end) + tail]
